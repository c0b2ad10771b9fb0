// The part of EventPipeline that judges a batch before the gates: from the text to the verdict of the write plugin.
#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "relay/account/work.h"
#include "relay/nostr/signature.h"
#include "relay/nostr/vanish.h"
#include "relay/plugins/policy_plugin.h"
#include "relay/protocol/event_flight.h"
#include "relay/protocol/policy.h"
#include "relay/retention/disk_budget.h"

namespace weir {

// Returns the work that the batch has cost so far: `expected`, but at least the time of the search for words. A text
// that is made for an expression costs a thousand times as much as others.
Work EventPipeline::JudgeAll(const std::shared_ptr<Judging>& judging, Work expected) {
  const EventBatch& batch = *judging->batch;
  std::unique_ptr<EventParser> parser;
  for (size_t i = 0; i < batch.count; ++i) Read(batch.text(i), &parser, judging.get());
  if (parser != nullptr) PutBack(std::move(parser));
  judging->batch->texts = std::string();  // the flights have records, and copies of the content that is searched
  return std::max(expected, SearchWords(judging));
}

// Searches the next piece of the event's content, and judges the event after the last one.
void EventPipeline::SearchPiece(Flight& flight, Judged* judged) {
  try {
    if (flight.search->Step()) return;
    const Ruling ruling = context_.rules->JudgeWords(*flight.search);
    flight.search = nullptr;
    if (ruling.refused()) Settle(flight, {false, ruling.reason}, judged);
  } catch (const std::exception& fault) {
    flight.search = nullptr;
    Settle(flight, {false, FaultText(fault)}, judged);
  }
}

// Searches the content of the events for words, for about a turn; the rest follows in another task. Then judges the
// events further. Returns the time of the search.
Work EventPipeline::SearchWords(const std::shared_ptr<Judging>& judging) {
  const TimePoint begin = context_.clock.Now();
  const auto searched = [&] { return static_cast<Work>(Duration(context_.clock.Now() - begin).count()); };
  for (const std::shared_ptr<Flight>& flight : judging->flights) {
    while (flight->search) {
      SearchPiece(*flight, &judging->judged);
      if (searched() < kTurnWork) continue;
      try {
        context_.pool.Submit(Urgency::kFair, judging->batch->party, kTurnWork,
                             [this, judging] { return SearchWords(judging); });
        return searched();
      } catch (const std::exception&) {
        // There is no memory for a task, so the search goes on at once.
      }
    }
  }
  const Work work = searched();
  const auto is_settled = [](const std::shared_ptr<Flight>& flight) { return flight->budget_bytes == 0; };
  std::erase_if(judging->flights, is_settled);
  JudgeNew(*judging->batch, judging->flights, &judging->judged);
  Finish(&judging->judged);
  return work;
}

// Makes all checks except those that need the store, and that of the signature.
void EventPipeline::Read(std::string_view text, std::unique_ptr<EventParser>* parser, Judging* judging) {
  const EventBatch& batch = *judging->batch;
  std::vector<std::shared_ptr<Flight>>* const flights = &judging->flights;
  Judged* const judged = &judging->judged;
  const uint64_t bytes = text.size() + EventBatch::kOverheadBytes;
  Span span = BeginSpan(context_.tracer, "EVENT", SpanKind::kServer, batch.received);
  if (span) span.Set("weir.bytes", static_cast<int64_t>(text.size()));
  const auto refuse = [&](std::string reason) {
    const Verdict verdict{false, std::move(reason)};
    judged->answers.push_back(AnswerTo(batch.sender, batch.received, FindId(text), verdict));
    judged->settled_bytes += bytes;
    EndSpan(&span, verdict);
  };
  try {
    if (context_.settings.auth_required && batch.identity->empty()) return refuse(kEventNeedsAuth);
    if (*parser == nullptr) *parser = TakeParser();
    const Result<Event> parsed = (*parser)->Parse(text);
    if (!parsed.ok()) return refuse("invalid: " + parsed.status().message());
    const uint64_t now = context_.wall_clock.NowSeconds();
    std::string refusal = RefusalOfEvent(parsed.value().view(), context_.settings, *batch.identity, now);
    if (refusal.empty()) refusal = context_.rules->JudgeEvent(parsed.value().view(), batch.rule_client(), now).reason;
    if (!refusal.empty()) return refuse(std::move(refusal));
    flights->reserve(batch.count);  // so that push_back cannot fail once the flight exists
    std::unique_ptr<WordSearch> search = context_.rules->SearchWords(parsed.value().view(), batch.rule_client());
    flights->push_back(std::make_shared<Flight>(parsed.value(), batch, SavingWork(parsed.value().view()), bytes,
                                                context_.budget, span));
    flights->back()->search = std::move(search);
    if (span) span.Set("weir.kind", parsed.value().view().kind());
  } catch (const std::exception& fault) {
    refuse(FaultText(fault));
  }
}

// Answers stored events, verifies the others and passes them to the plugin or to the gate. A stored event goes on like
// a new one if
//  * it is a request to vanish, because the store may not have carried it out (save_plan.h),
//  * requests to vanish are not fully carried out, because only the commit thread knows if they remove it, or
//  * the store is in doubt, because only a further write makes it durable.
void EventPipeline::JudgeNew(const EventBatch& batch, const std::vector<std::shared_ptr<Flight>>& flights,
                             Judged* judged) {
  if (flights.empty()) return;
  const Result<std::vector<bool>> stored = FaultsAsErrors<std::vector<bool>>([&] {
    std::vector<EventView> events;
    for (const std::shared_ptr<Flight>& flight : flights) events.push_back(flight->event.view());
    return context_.store.StoredEvents(events);
  });
  const bool is_final = !context_.store.owes_vanishing() && !context_.store.in_doubt();
  for (size_t i = 0; i < flights.size(); ++i) {
    try {
      if (!stored.ok()) {
        Settle(*flights[i], {false, "error: the store cannot be read: " + ErrorForStrangers(stored.status())}, judged);
      } else if (stored.value()[i] && is_final && flights[i]->event.view().kind() != kVanishKind) {
        Settle(*flights[i], {true, kHaveIt}, judged);
      } else if (!VerifySignature(flights[i]->event.view())) {
        Settle(*flights[i], {false, "invalid: the signature is not its author's"}, judged);
      } else if (Ruling rates = TakeRates(batch, *flights[i]); rates.refused()) {
        Settle(*flights[i], {false, std::move(rates.reason)}, judged);
      } else if (std::string full = RefusalForRoom(*flights[i]); !full.empty()) {
        Settle(*flights[i], {false, std::move(full)}, judged);
      } else if (context_.write_plugin != nullptr) {
        AskPlugin(flights[i]);
      } else {
        AskGate(flights[i], judged);
      }
    } catch (const std::exception& fault) {
      Settle(*flights[i], {false, FaultText(fault)}, judged);
    }
  }
}

// The signature must have been verified.
Ruling EventPipeline::TakeRates(const EventBatch& batch, Flight& flight) {
  RuleClient sender = batch.rule_client();
  if (context_.ladder != nullptr) flight.rung = context_.ladder->RungOf(flight.event.view(), sender.proved);
  sender.rung = flight.rung.value_or(Rung::kStranger);
  return context_.rules->TakeRates(flight.event.view(), sender, context_.clock.Now());
}

// Ephemeral events need no room. The ladder must have set the rung.
std::string EventPipeline::RefusalForRoom(const Flight& flight) const {
  const uint16_t kind = flight.event.view().kind();
  if (context_.disk_budget == nullptr || ClassOf(kind) == KindClass::kEphemeral) return "";
  return context_.disk_budget->Refusal(flight.rung, kind);
}

// The flight keeps its bytes of the budget until the plugin's answer.
void EventPipeline::AskPlugin(const std::shared_ptr<Flight>& flight) {
  if (flight->span) flight->stage = flight->span.Child("plugin");
  PluginQuestion question =
      QuestionAbout(flight->event.view(), context_.wall_clock.NowSeconds(), SourceOfClient(flight->sender->address()));
  question.address = GroupOf(flight->party);
  context_.write_plugin->Ask(std::move(question), [this, flight](PluginVerdict verdict) {
    context_.pool.Submit(Urgency::kFair, flight->party, kAfterWaitWork,
                         [this, flight, verdict = std::move(verdict)] { AfterPlugin(flight, verdict); });
  });
}

void EventPipeline::AfterPlugin(const std::shared_ptr<Flight>& flight, const PluginVerdict& verdict) {
  Judged judged;
  flight->stage.End();
  try {
    if (verdict.action == PluginAction::kAccept) {
      AskGate(flight, &judged);
    } else {
      Settle(*flight, {verdict.action == PluginAction::kShadowReject, verdict.refusal}, &judged);
    }
  } catch (const std::exception& fault) {
    Settle(*flight, {false, FaultText(fault)}, &judged);
  }
  Finish(&judged);
}

std::unique_ptr<EventParser> EventPipeline::TakeParser() {
  {
    const MutexLock lock(parsers_mutex_);
    if (!parsers_.empty()) {
      std::unique_ptr<EventParser> parser = std::move(parsers_.back());
      parsers_.pop_back();
      return parser;
    }
  }
  return std::make_unique<EventParser>(limits_);
}

void EventPipeline::PutBack(std::unique_ptr<EventParser> parser) {
  const MutexLock lock(parsers_mutex_);
  parsers_.push_back(std::move(parser));
}

}  // namespace weir
