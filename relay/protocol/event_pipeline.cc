#include "relay/protocol/event_pipeline.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "relay/nostr/messages.h"
#include "relay/protocol/event_flight.h"
#include "relay/protocol/policy.h"
#include "relay/protocol/save_allowed.h"
#include "relay/retention/disk_budget.h"

namespace weir {
namespace {

// Searching a byte of content for words (relay/rules/word_set.h), unless an expression is slow on this content.
constexpr Work kSearchedByteWork = 4;
constexpr uint64_t kSiblings = 0;  // the group that takes the bytes of other relays' events; no address is 0

uint64_t TagsOf(EventView event) {
  uint64_t tags = 0;
  for ([[maybe_unused]] const TagView tag : event.tags()) ++tags;
  return tags;
}

}  // namespace

std::string FaultText(const std::exception& fault) {
  spdlog::error("an event could not be handled: {}", fault.what());
  return std::string("error: a fault of this relay: ") + fault.what();
}

EventPipeline::EventPipeline(RelayContext& context)
    : context_(context),
      limits_(EventLimitsOf(context.settings)),
      write_health_(context.clock),
      commit_(
          context.store, [this](GroupCommit::Submissions settled, const Status& status) { OnWritten(settled, status); },
          {}, context.wall_clock, AdmitAsBulk(context.limiter, Operation::kWrite), context.clock) {}

EventPipeline::~EventPipeline() { Stop(); }

void EventPipeline::Stop() { commit_.Stop(); }

Status EventPipeline::SaveNews(std::span<const Event> events, std::span<SaveResult> results, uint64_t news_since,
                               std::function<void()> delivered) {
  std::vector<bool> young, old;
  for (const Event& event : events) young.push_back(event.view().created_at() >= news_since);
  for (const bool one : young) old.push_back(!one);
  const auto save = [this](bool are_news) {
    return [this, are_news](std::span<const Event> some, std::span<SaveResult> saved) {
      return SaveBulk(some, saved, are_news);
    };
  };
  Status status = SaveChosen(old, events, results, save(false));
  std::vector<SaveResult> news(events.size());
  if (status.ok()) status = SaveChosen(young, events, news, save(true));
  std::vector<LiveEvent> live;
  for (size_t i = 0; i < events.size(); ++i) {
    if (old[i]) continue;
    results[i] = news[i];
    if (news[i].settled && news[i].outcome == SaveOutcome::kSaved)
      live.push_back({events[i], news[i].serial, context_.clock.Now()});
  }
  if (!live.empty() && context_.delivery.HasSubscribers()) DeliverShared(std::move(live), std::move(delivered));
  return status;
}

Status EventPipeline::SaveBulk(std::span<const Event> events, std::span<SaveResult> results, bool are_news) {
  std::vector<bool> unbanned;
  for (const Event& event : events) unbanned.push_back(context_.rules->decided().MaySee(event.view()));
  if (std::ranges::find(unbanned, false) == unbanned.end()) return SaveUnbannedBulk(events, results, are_news);
  return SaveChosen(unbanned, events, results, [&](std::span<const Event> some, std::span<SaveResult> saved) {
    return SaveUnbannedBulk(some, saved, are_news);
  });
}

Status EventPipeline::SaveUnbannedBulk(std::span<const Event> events, std::span<SaveResult> results, bool are_news) {
  if (events.empty()) return Status();
  if (context_.disk_budget != nullptr)
    if (std::string full = context_.disk_budget->RefusalOfImport(); !full.empty())
      return Status::Error(std::move(full));
  if (context_.import_plugin == nullptr) return SaveAllBulk(events, results, are_news);
  return SaveAllowed(*context_.import_plugin, context_.wall_clock.NowSeconds(), events, results,
                     [&](std::span<const Event> allowed, std::span<SaveResult> saved) {
                       return SaveAllBulk(allowed, saved, are_news);
                     });
}

Status EventPipeline::SaveAllBulk(std::span<const Event> events, std::span<SaveResult> results, bool are_news) {
  Status status = commit_.SaveBulk(events, results, are_news);
  write_health_.Note(status);
  const bool are_watched = !are_news && context_.delivery.HasWatchers();
  std::vector<LiveEvent> saved;
  for (size_t i = 0; i < events.size() && results[i].settled; ++i) {
    if (results[i].outcome != SaveOutcome::kSaved) continue;
    context_.counters.CountSavedEvent(events[i].view().kind());
    if (are_watched) saved.push_back({events[i], results[i].serial, context_.clock.Now()});
  }
  if (!saved.empty()) context_.delivery.TellWatchers(saved);
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

Work EventPipeline::SavingWork(EventView event) const { return SavingWorkOf(event) + context_.store.SearchWork(event); }

// Returns the work of storing the event or, for an ephemeral event, of matching it with subscriptions and delivering
// it.
Work EventPipeline::GateWorkOf(EventView event) const {
  if (ClassOf(event.kind()) != KindClass::kEphemeral) return StoringWorkOf(event) + context_.store.SearchWork(event);
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
    case SaveOutcome::kNoPlace:
      return {false, "error: the database takes no events of this date"};
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
  context_.counters.CountRefusal(verdict.text);
  answer.wants_auth = PrefixOf(verdict.text) == "auth-required";
  answer.refusal = verdict.text;
  return answer;
}

}  // namespace weir
