#include "relay/protocol/event_pipeline.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "relay/account/work.h"
#include "relay/nostr/messages.h"
#include "relay/nostr/signature.h"
#include "relay/nostr/vanish.h"
#include "relay/plugins/policy_plugin.h"
#include "relay/protocol/policy.h"
#include "relay/protocol/save_allowed.h"
#include "relay/standing/ladder.h"

namespace weir {
namespace {

constexpr const char* kHaveIt = "duplicate: already have this event";
// The work of an event after its wait at the gate: it is only passed on or answered.
constexpr Work kAfterWaitWork = kDeliveryWork;
// Searching a byte of content for words (relay/rules/word_set.h), unless an expression is slow on this content.
constexpr Work kSearchedByteWork = 4;
constexpr uint64_t kSiblings = 0;  // the group that takes the bytes of other relays' events; no address is 0

uint64_t TagsOf(EventView event) {
  uint64_t tags = 0;
  for ([[maybe_unused]] const TagView tag : event.tags()) ++tags;
  return tags;
}

std::string FaultText(const std::exception& fault) {
  spdlog::error("an event could not be handled: {}", fault.what());
  return std::string("error: a fault of this relay: ") + fault.what();
}

}  // namespace

// Flight: an event from parsing until its answer. The destructor returns its bytes to the budget and its admission to
// the gate, whatever happens.
struct EventPipeline::Flight final : Submission {
  Flight(const Event& e, const EventBatch& batch, uint64_t bytes, ByteBudget& from, Span of)
      : Submission(e, batch.party, SavingWorkOf(e.view())),
        sender(batch.sender),
        client(batch.party),
        identity(batch.identity),
        received(batch.received),
        budget_bytes(bytes),
        budget(from),
        span(std::move(of)) {}
  ~Flight() override {
    if (budget_bytes > 0) budget.GiveBack(budget_bytes);
  }

  uint64_t TakeBytes() { return std::exchange(budget_bytes, 0); }

  const std::shared_ptr<EventSender> sender;
  const Party client;  // the sender's; Submission::party is another one if the event is held back
  const std::shared_ptr<const Identity> identity;
  const TimePoint received;
  uint64_t budget_bytes;
  ByteBudget& budget;
  Work debt = 0;                       // the part of its address's debt that the event is charged
  Cost cost;                           // at the gates
  std::optional<Rung> rung;            // its author's; nullopt if the event has no standing or there is no ladder
  bool held_back = false;              // the event may be held back for its rung
  bool would_wait = false;             // the event would be held back if the ladder were on
  bool waited = false;                 // the event has waited at a gate
  std::unique_ptr<WordSearch> search;  // null if its content need not be searched, or was searched
  std::optional<Admission> admission;
  StrangerShare::Room room;  // while the event waits and is held back
  Span span;
  Span stage;  // a part of `span`: the wait for the plugin or at the gate, or the commit
};

// The results of a task for its events.
struct EventPipeline::Judged {
  std::vector<Answer> answers;
  std::vector<std::shared_ptr<Submission>> submissions;
  std::shared_ptr<LiveBatch> live;
  uint64_t settled_bytes = 0;  // bytes that Finish returns to the budget

  void Live(Flight& flight) {
    if (live == nullptr) live = std::make_shared<LiveBatch>(flight.budget);
    live->events.push_back({flight.event, flight.result.serial, flight.received});
    live->bytes += flight.TakeBytes();
  }
};

// A batch that is being judged.
struct EventPipeline::Judging {
  const std::shared_ptr<EventBatch> batch;       // without the texts once they were read
  std::vector<std::shared_ptr<Flight>> flights;  // the events that the rules take
  Judged judged;
};

EventPipeline::EventPipeline(RelayContext& context)
    : context_(context),
      limits_(EventLimitsOf(context.settings)),
      write_health_(context.clock),
      commit_(
          context.store, [this](GroupCommit::Submissions settled, const Status& status) { OnWritten(settled, status); },
          {}, context.wall_clock,
          [&limiter = context.limiter](Cost cost) {
            return limiter.Admit(Operation::kWrite, cost, {.work_class = WorkClass::kBulk});
          },
          context.clock) {}

EventPipeline::~EventPipeline() { Stop(); }

void EventPipeline::Stop() { commit_.Stop(); }

Status EventPipeline::SaveBulk(std::span<const Event> events, std::span<SaveResult> results) {
  if (events.empty()) return Status();
  if (context_.import_plugin == nullptr) return SaveAllBulk(events, results);
  return SaveAllowed(
      *context_.import_plugin, context_.wall_clock.NowSeconds(), events, results,
      [this](std::span<const Event> allowed, std::span<SaveResult> saved) { return SaveAllBulk(allowed, saved); });
}

Status EventPipeline::SaveAllBulk(std::span<const Event> events, std::span<SaveResult> results) {
  Status status = commit_.SaveBulk(events, results);
  write_health_.Note(status);
  for (size_t i = 0; i < events.size() && results[i].settled; ++i)
    if (results[i].outcome == SaveOutcome::kSaved) context_.counters.CountSavedEvent(events[i].view().kind());
  return status;
}

void EventPipeline::DeliverShared(std::vector<LiveEvent> events, std::function<void()> done) {
  auto batch = std::make_shared<LiveBatch>(context_.budget);
  uint64_t bytes = 0;
  for (const LiveEvent& event : events) bytes += event.event.record()->size() + EventBatch::kOverheadBytes;
  batch->events = std::move(events);
  auto deliver = [this, batch, bytes, done = std::move(done)] {
    batch->bytes = bytes;
    context_.budget.Answered(kSiblings, bytes);
    try {
      context_.delivery.Deliver({}, batch);
    } catch (const std::exception& fault) {
      spdlog::error("events of other relays could not be passed on to subscribers: {}", fault.what());
    }
    done();
  };
  if (context_.budget.Take(kSiblings, bytes, deliver)) deliver();
}

void EventPipeline::Submit(std::shared_ptr<EventBatch> batch) {
  const Party party = batch->party;
  const Work byte_work = kParsedByteWork + (context_.rules->searches_content() ? kSearchedByteWork : 0);
  const Work work = batch->count * kSignatureWork + batch->texts.size() * byte_work;
  const auto judging = std::make_shared<Judging>(Judging{.batch = std::move(batch), .flights = {}, .judged = {}});
  context_.pool.Submit(Urgency::kFair, party, work, [this, work, judging] { return JudgeAll(judging, work); });
}

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
    flights->push_back(std::make_shared<Flight>(parsed.value(), batch, bytes, context_.budget, span));
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
    std::vector<EventId> ids;
    for (const std::shared_ptr<Flight>& flight : flights) ids.push_back(flight->event.view().id());
    return context_.store.Stored(ids);
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

void EventPipeline::Settle(Flight& flight, const Verdict& verdict, Judged* judged) {
  judged->answers.push_back(AnswerTo(flight.sender, flight.received, ToHex(flight.event.view().id()), verdict));
  judged->settled_bytes += flight.TakeBytes();
  flight.stage.End();
  EndSpan(&flight.span, verdict);
}

void EventPipeline::EndSpan(Span* span, const Verdict& verdict) {
  if (!*span) return;
  const std::string_view prefix = PrefixOf(verdict.text);
  span->Set("weir.outcome", prefix.empty() ? "ok" : prefix);
  if (prefix == "error") span->Fail();
  span->End();
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

void EventPipeline::AskGate(const std::shared_ptr<Flight>& flight, Judged* judged) {
  flight->debt = debts_.Take(flight->client);
  flight->cost = CostOf(GateWorkOf(flight->event.view()) + flight->debt);
  Ladder* const ladder = context_.ladder;
  if (!flight->rung) return AskWriteGate(flight, judged);
  flight->held_back = ladder->HoldsBack(*flight->rung);
  if (!flight->held_back) {
    flight->would_wait = !ladder->is_on() && ladder->WouldWait(*flight->rung, flight->cost, flight->client);
    return AskWriteGate(flight, judged);
  }
  flight->party = Ladder::PartyOf(*flight->rung, flight->client);
  if (flight->span) flight->stage = flight->span.Child("share");
  flight->admission = ladder->share().Admit(flight->cost, flight->party);
  Follow(flight, &EventPipeline::AskWriteGate, judged);
}

void EventPipeline::AskWriteGate(const std::shared_ptr<Flight>& flight, Judged* judged) {
  if (flight->span) {
    flight->stage.End();
    flight->stage = flight->span.Child("write gate");
    flight->stage.Set("weir.cost", static_cast<int64_t>(flight->cost.bytes));
  }
  Party party = flight->party;
  if (flight->held_back) party.work_class = context_.ladder->ClassAtGate();
  flight->admission = context_.limiter.Admit(Operation::kWrite, flight->cost, party);
  Follow(flight, &EventPipeline::Admitted, judged);
}

// Goes on with a gate's answer: now, or after the wait.
void EventPipeline::Follow(const std::shared_ptr<Flight>& flight, Step next, Judged* judged) {
  if (flight->held_back && flight->room == nullptr && flight->admission->waiting()) {
    flight->room = context_.ladder->share().TakeRoom(flight->budget_bytes, flight->party);
    if (flight->room == nullptr) flight->admission->Cancel();  // too late if the gate has admitted it meanwhile
  }
  if (flight->admission->admitted()) return (this->*next)(flight, judged);
  if (!flight->admission->waiting()) return RefusedByGate(*flight, judged);
  flight->waited = true;
  if (flight->stage) flight->stage.Set("weir.reason", flight->admission->reason());
  // Once OnSettled is called, another thread may use the flight, which owns the admission.
  flight->admission->OnSettled([this, next, flight = flight]() mutable {
    const Party client = flight->client;
    context_.pool.Submit(Urgency::kFair, client, kAfterWaitWork,
                         [this, next, flight = std::move(flight)] { AfterWait(flight, next); });
  });
}

// Returns the work of storing the event or, for an ephemeral event, of matching it with subscriptions and delivering
// it.
Work EventPipeline::GateWorkOf(EventView event) const {
  if (ClassOf(event.kind()) != KindClass::kEphemeral) return StoringWorkOf(event);
  return kDeliveryWork + event.record().size() * kParsedByteWork + TagsOf(event) * kTagVisitWork +
         context_.delivery.subscriptions() * kFilterWork;
}

void EventPipeline::AfterWait(const std::shared_ptr<Flight>& flight, Step next) {
  Judged judged;
  const Admission::State state = flight->admission->Poll();
  if (next == &EventPipeline::Admitted) context_.counters.WriteGateWait(flight->admission->waited());
  try {
    state == Admission::State::kAdmitted ? (this->*next)(flight, &judged) : RefusedByGate(*flight, &judged);
  } catch (const std::exception& fault) {
    Settle(*flight, {false, FaultText(fault)}, &judged);
  }
  Finish(&judged);
}

void EventPipeline::RefusedByGate(Flight& flight, Judged* judged) {
  debts_.Add(flight.client, flight.debt);
  flight.room.reset();
  CountAtLadder(flight, /*refused=*/true);
  const Admission& admission = *flight.admission;
  if (flight.stage) flight.stage.Set("weir.outcome", admission.reason());
  // An admission that was cancelled, because there was no room for its wait, knows only when its turn was to come.
  const Duration again = std::max(admission.retry_after(), admission.wait_until() - context_.clock.Now());
  Settle(flight, {false, flight.held_back ? Ladder::Refusal(*flight.rung, again) : RateLimited(admission)}, judged);
}

void EventPipeline::CountAtLadder(const Flight& flight, bool refused) {
  if (!flight.rung) return;
  context_.ladder->Count(*flight.rung, refused             ? LadderOutcome::kRefused
                                       : flight.waited     ? LadderOutcome::kWaited
                                       : flight.would_wait ? LadderOutcome::kWouldWait
                                                           : LadderOutcome::kPassed);
}

void EventPipeline::Admitted(const std::shared_ptr<Flight>& flight, Judged* judged) {
  flight->room.reset();
  CountAtLadder(*flight, /*refused=*/false);
  if (ClassOf(flight->event.view().kind()) != KindClass::kEphemeral) {
    if (flight->span) flight->stage = flight->span.Child("commit");
    return judged->submissions.push_back(flight);
  }
  judged->Live(*flight);
  context_.share_ephemeral(flight->event.view());
  Settle(*flight, {true, ""}, judged);
}

void EventPipeline::Finish(Judged* judged) {
  commit_.Submit(judged->submissions);
  if (!judged->answers.empty() || judged->live != nullptr) {
    context_.delivery.Deliver(std::move(judged->answers), std::move(judged->live));
  }
  context_.budget.GiveBack(judged->settled_bytes);
}

// Runs on the commit thread, or on the thread that submits the events if they are refused (after Stop, or without
// memory).
void EventPipeline::OnWritten(GroupCommit::Submissions settled, const Status& status) {
  write_health_.Note(status);
  Judged judged;
  for (const std::shared_ptr<Submission>& submission : settled) {
    auto& flight = static_cast<Flight&>(*submission);  // Finish submits nothing but flights
    try {
      Written(flight, status, &judged);
    } catch (const std::exception& fault) {
      Settle(flight, {false, FaultText(fault)}, &judged);
    }
  }
  // A deletion that took several writes does not show how long one write takes.
  const auto usual = std::ranges::find_if(settled, [](const auto& s) { return s->result.tags_done == 0; });
  if (usual != settled.end()) {
    const TimePoint received = static_cast<const Flight&>(**usual).received;
    context_.limiter.RecordLatency(Operation::kWrite, context_.clock.Now() - received);
  }
  Finish(&judged);
}

void EventPipeline::Written(Flight& flight, const Status& status, Judged* judged) {
  const SaveResult& result = flight.result;
  if (!status.ok()) flight.stage.Fail();
  debts_.Add(flight.client, result.removal);
  if (status.ok() && result.outcome == SaveOutcome::kSaved) {
    const EventView event = flight.event.view();
    context_.counters.CountSavedEvent(event.kind());
    if (context_.ladder != nullptr)
      context_.ladder->standings().NoteAccepted(event, flight.client.group, flight.identity->Has(event.pubkey()));
    if (context_.delivery.HasSubscribers()) judged->Live(flight);
  }
  Settle(flight,
         status.ok() ? VerdictOf(result.outcome)
                     : Verdict{false, "error: could not be stored: " + ErrorForStrangers(status)},
         judged);
}

EventPipeline::Verdict EventPipeline::VerdictOf(SaveOutcome outcome) {
  switch (outcome) {
    case SaveOutcome::kSaved:
      return {true, ""};
    case SaveOutcome::kDuplicate:
      return {true, kHaveIt};
    case SaveOutcome::kSuperseded:
      return {false, "replaced: a newer version is stored"};
    case SaveOutcome::kDeleted:
      return {false, "blocked: its author deleted it"};
    case SaveOutcome::kVanished:
      return {false, "blocked: its author or recipient asked to vanish from this relay"};
    case SaveOutcome::kExpired:
      return {false, "invalid: the event has expired"};
    case SaveOutcome::kRefused:
      return {false, "blocked: a plugin refused it"};
  }
  return {false, "error: the store gave no answer"};
}

// Returns a NOTICE if `id_hex` is empty, because an OK needs an id.
Answer EventPipeline::AnswerTo(std::shared_ptr<EventSender> sender, TimePoint received, std::string_view id_hex,
                               const Verdict& verdict) {
  Answer answer{.sender = std::move(sender), .is_notice = id_hex.empty(), .received = received};
  answer.message = answer.is_notice ? NoticeMessage(verdict.text) : OkMessage(id_hex, verdict.accepted, verdict.text);
  if (verdict.accepted) return answer;
  const std::string_view prefix = PrefixOf(verdict.text);
  context_.counters.CountRefusal(prefix);
  answer.wants_auth = prefix == "auth-required";
  answer.refusal = verdict.text;
  return answer;
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
