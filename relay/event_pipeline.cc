#include "relay/event_pipeline.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "relay/nostr/messages.h"
#include "relay/nostr/signature.h"
#include "relay/policy.h"

namespace weir {
namespace {

constexpr const char* kHaveIt = "duplicate: already have this event";
constexpr Duration kFailureLasts = std::chrono::seconds(10);

}  // namespace

// An event between its judgement and its write.
struct EventPipeline::Flight {
  std::shared_ptr<EventSender> sender;
  Party party;
  TimePoint received;
  uint64_t budget_bytes = 0;
  std::optional<Event> event;  // only while it waits at the gate
  std::optional<Admission> admission;
};

// What a task has found out about its events.
struct EventPipeline::Judged {
  std::vector<Answer> answers;
  std::vector<Submission> submissions;
  std::shared_ptr<LiveBatch> ephemeral;
  uint64_t settled_bytes = 0;  // of the budget
};

EventPipeline::EventPipeline(RelayContext& context)
    : context_(context),
      limits_(EventLimitsOf(context.settings)),
      commit_(
          context.store, [this](std::span<SettledEvent> settled, const Status& status) { OnWritten(settled, status); },
          {}, context.wall_clock) {}

EventPipeline::~EventPipeline() { Stop(); }

void EventPipeline::Stop() { commit_.Stop(); }

Status EventPipeline::SaveBulk(std::span<const Event> events, std::span<SaveResult> results) {
  if (events.empty()) return Status();
  Status status = commit_.SaveBulk(events, results);
  NoteWrite(status);
  if (!status.ok()) return status;
  for (size_t i = 0; i < events.size(); ++i) {
    if (results[i].outcome == SaveOutcome::kSaved) context_.metrics.CountSavedEvent(events[i].view().kind());
  }
  return status;
}

void EventPipeline::Submit(std::shared_ptr<const EventBatch> batch) {
  const Party party = batch->party;
  context_.pool.Submit(Urgency::kFair, party, [this, batch = std::move(batch)] { Work(*batch); });
}

void EventPipeline::Work(const EventBatch& batch) {
  std::unique_ptr<EventParser> parser = TakeParser();
  Judged judged;
  for (size_t i = 0; i < batch.count; ++i) Judge(batch, batch.text(i), parser.get(), &judged);
  PutBack(std::move(parser));
  Finish(&judged);
}

void EventPipeline::Judge(const EventBatch& batch, std::string_view text, EventParser* parser, Judged* judged) {
  const uint64_t budget_bytes = text.size() + EventBatch::kOverheadBytes;
  const auto answer = [&](std::string_view id_hex, const Verdict& verdict) {
    judged->answers.push_back(AnswerTo(batch.sender, batch.received, id_hex, verdict));
  };
  const auto settle = [&](std::string_view id_hex, const Verdict& verdict) {
    answer(id_hex, verdict);
    judged->settled_bytes += budget_bytes;
  };
  if (context_.settings.auth_required && batch.identity->empty()) {
    return settle(FindId(text), {false, "auth-required: this relay takes events from those it knows only"});
  }
  const Result<Event> parsed = parser->Parse(text);
  if (!parsed.ok()) return settle(FindId(text), {false, "invalid: " + parsed.status().message()});
  const Event& event = parsed.value();
  const EventView view = event.view();
  if (const std::optional<Verdict> verdict = EarlyVerdict(view, batch)) return settle(ToHex(view.id()), *verdict);
  if (ClassOf(view.kind()) != KindClass::kEphemeral) {
    Flight flight{batch.sender, batch.party, batch.received, budget_bytes, {}, {}};
    return AskGate(event, std::make_shared<Flight>(std::move(flight)), judged);
  }
  answer(ToHex(view.id()), {true, ""});  // not settled: the live batch has the bytes
  if (judged->ephemeral == nullptr) judged->ephemeral = std::make_shared<LiveBatch>(context_.budget);
  judged->ephemeral->events.push_back({event, 0, batch.received});
  judged->ephemeral->bytes += budget_bytes;
}

// Of all that can be said without the gate and the store's thread, cheapest first.
std::optional<EventPipeline::Verdict> EventPipeline::EarlyVerdict(EventView event, const EventBatch& batch) const {
  std::string refusal = RefusalOfEvent(event, context_.settings, *batch.identity, context_.wall_clock.NowSeconds());
  if (!refusal.empty()) return Verdict{false, std::move(refusal)};
  const Result<bool> stored = context_.store.Has(event.id());
  if (!stored.ok()) return Verdict{false, "error: the store cannot be read: " + stored.status().message()};
  if (stored.value()) return Verdict{true, kHaveIt};
  if (!VerifySignature(event)) return Verdict{false, "invalid: the signature is not its author's"};
  return std::nullopt;
}

void EventPipeline::AskGate(const Event& event, std::shared_ptr<Flight> flight, Judged* judged) {
  Admission admission = context_.limiter.Admit(Operation::kWrite, Cost{event.record()->size()}, flight->party);
  switch (admission.state()) {
    case Admission::State::kAdmitted:
      flight->admission = std::move(admission);
      judged->submissions.push_back({event, std::move(flight)});
      return;
    case Admission::State::kRefused:
      judged->answers.push_back(
          AnswerTo(flight->sender, flight->received, ToHex(event.view().id()), {false, RateLimited(admission)}));
      judged->settled_bytes += flight->budget_bytes;
      return;
    case Admission::State::kWaiting:
      break;
  }
  flight->event = event;
  flight->admission = std::move(admission);
  Admission& waiting = *flight->admission;
  // Under the gate's lock, so the flight, which owns the admission, moves on. From here on it may be another thread's.
  waiting.OnSettled([this, flight = std::move(flight)]() mutable {
    const Party party = flight->party;
    context_.pool.Submit(Urgency::kFair, party, [this, flight = std::move(flight)] { AfterWait(flight); });
  });
}

void EventPipeline::AfterWait(const std::shared_ptr<Flight>& flight) {
  Judged judged;
  const Admission::State state = flight->admission->Poll();
  context_.metrics.WriteGateWait(flight->admission->waited());
  if (state == Admission::State::kAdmitted) {
    judged.submissions.push_back({*std::exchange(flight->event, std::nullopt), flight});
  } else {
    judged.answers.push_back(AnswerTo(flight->sender, flight->received, ToHex(flight->event->view().id()),
                                      {false, RateLimited(*flight->admission)}));
    judged.settled_bytes = flight->budget_bytes;
  }
  Finish(&judged);
}

void EventPipeline::Finish(Judged* judged) {
  commit_.Submit(judged->submissions);
  if (!judged->answers.empty() || judged->ephemeral != nullptr) {
    context_.delivery.Deliver(std::move(judged->answers), std::move(judged->ephemeral));
  }
  context_.budget.GiveBack(judged->settled_bytes);
}

// On the commit thread, or after Stop on whichever submits.
void EventPipeline::OnWritten(std::span<SettledEvent> settled, const Status& status) {
  NoteWrite(status);
  const Verdict failure{false, "error: could not be stored: " + status.message()};
  const auto live = context_.delivery.HasSubscribers() ? std::make_shared<LiveBatch>(context_.budget) : nullptr;
  std::vector<Answer> answers;
  answers.reserve(settled.size());
  uint64_t settled_bytes = 0;
  for (const SettledEvent& s : settled) {
    const Flight& flight = *static_cast<const Flight*>(s.submission.ticket.get());
    const EventView view = s.submission.event.view();
    answers.push_back(AnswerTo(flight.sender, flight.received, ToHex(view.id()),
                               status.ok() ? VerdictOf(s.result.outcome) : failure));
    const bool saved = status.ok() && s.result.outcome == SaveOutcome::kSaved;
    if (saved) context_.metrics.CountSavedEvent(view.kind());
    if (saved && live != nullptr) {
      live->events.push_back({s.submission.event, s.result.serial, flight.received});
      live->bytes += flight.budget_bytes;
    } else {
      settled_bytes += flight.budget_bytes;
    }
  }
  if (!settled.empty()) {
    const Flight& first = *static_cast<const Flight*>(settled.front().submission.ticket.get());
    context_.limiter.RecordLatency(Operation::kWrite, context_.clock.Now() - first.received);
  }
  context_.delivery.Deliver(std::move(answers), live);
  context_.budget.GiveBack(settled_bytes);
}

void EventPipeline::NoteWrite(const Status& status) {
  const std::lock_guard lock(write_mutex_);
  if (!status.ok()) {
    last_failure_ = context_.clock.Now();
    if (last_write_.ok()) spdlog::error("events cannot be stored: {}", status.message());
  } else if (!last_write_.ok()) {
    spdlog::info("events are stored again");
  }
  last_write_ = status;
}

Status EventPipeline::LastWrite() const {
  const std::lock_guard lock(write_mutex_);
  return context_.clock.Now() - last_failure_ < kFailureLasts ? last_write_ : Status();
}

EventPipeline::Verdict EventPipeline::VerdictOf(SaveOutcome outcome) {
  switch (outcome) {
    case SaveOutcome::kSaved:
      return {true, ""};
    case SaveOutcome::kDuplicate:
      return {true, kHaveIt};
    case SaveOutcome::kSuperseded:
      return {true, "duplicate: a newer version is stored"};
    case SaveOutcome::kDeleted:
      return {false, "blocked: its author deleted it"};
    case SaveOutcome::kVanished:
      return {false, "blocked: its author, or whom it is for, asked to vanish from here"};
    case SaveOutcome::kExpired:
      return {false, "invalid: the event has expired"};
  }
  return {false, "error: the store gave no answer"};
}

// Without an id there is nobody to say OK to.
Answer EventPipeline::AnswerTo(std::shared_ptr<EventSender> sender, TimePoint received, std::string_view id_hex,
                               const Verdict& verdict) {
  Answer answer{.sender = std::move(sender), .is_notice = id_hex.empty(), .received = received};
  answer.message = answer.is_notice ? NoticeMessage(verdict.text) : OkMessage(id_hex, verdict.accepted, verdict.text);
  if (verdict.accepted) return answer;
  const std::string_view prefix = PrefixOf(verdict.text);
  context_.metrics.CountRefusal(prefix);
  answer.wants_auth = prefix == "auth-required";
  answer.refusal = verdict.text;
  return answer;
}

std::unique_ptr<EventParser> EventPipeline::TakeParser() {
  {
    const std::lock_guard lock(parsers_mutex_);
    if (!parsers_.empty()) {
      std::unique_ptr<EventParser> parser = std::move(parsers_.back());
      parsers_.pop_back();
      return parser;
    }
  }
  return std::make_unique<EventParser>(limits_);
}

void EventPipeline::PutBack(std::unique_ptr<EventParser> parser) {
  const std::lock_guard lock(parsers_mutex_);
  parsers_.push_back(std::move(parser));
}

}  // namespace weir
