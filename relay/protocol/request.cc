#include "relay/protocol/request.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>
#include <random>
#include <utility>

#include "relay/account/work.h"
#include "relay/protocol/policy.h"
#include "relay/protocol/request_cost.h"
#include "relay/protocol/request_room.h"

namespace weir {
namespace {

// The most work of a REQ. It is more than for a COUNT, because a REQ's filters may match few of the visited events.
constexpr Work kMostVisited = 5'000'000 * (kVisitWork + 2 * kRecordWork);

// A first slice may do as much work as the request is expected to need, but at least this much, and at most a turn.
constexpr Work kLeastSlice = kTurnWork / 16;

// The bytes of a request, of its query and of its places in lists and tables, without its filters and held events.
constexpr uint64_t kRequestBytes = 1024;
constexpr size_t kSmallAnswer = 8 << 10;
constexpr std::string_view kTooMuchMemory =
    "rate-limited: the requests of your address hold too much memory; ask for less at once";

constexpr std::string_view kSetTakesTooMuch =
    "blocked: this query is too big for the memory that your address may take; narrow the filter by time, and compare "
    "the parts";

uint64_t MemoryOf(const std::vector<Filter>& filters) {
  uint64_t bytes = 0;
  for (const Filter& filter : filters) bytes += filter.MemoryBytes();
  return bytes;
}

// Returns the text in an object that counts as the program's own memory until its last owner drops it.
std::shared_ptr<const std::string> Seal(std::string text, const CountOwnBytes& count) {
  const auto bytes = static_cast<int64_t>(text.capacity());
  std::shared_ptr<const std::string> sealed(new const std::string(std::move(text)),
                                            [bytes, count](const std::string* taken) {
                                              delete taken;
                                              count(-bytes, OwnUse::kHeld);
                                            });
  count(bytes, OwnUse::kHeld);
  return sealed;
}

// Returns the most bytes of an answer to a NEG-OPEN or NEG-MSG, before it is written in hexadecimal: the relay sends no
// longer messages than it takes.
size_t FrameBytesOf(const RelayContext& context, const std::string& subscription) {
  const uint64_t around = 2 * subscription.size() + 64;
  return (std::max(context.max_message_bytes, around) - around) / 2;
}

std::unique_ptr<Gathering> MakeGathering(const RelayContext& context, const std::string& name,
                                         const std::vector<Filter>& filters, Verb verb, std::string message) {
  if (verb == Verb::kCount) return std::make_unique<Counting>(name, filters, std::random_device()());
  if (verb != Verb::kNegOpen) return nullptr;
  const bool has_limit = std::ranges::any_of(filters, [](const Filter& filter) { return filter.limit.has_value(); });
  return std::make_unique<SyncDialogue>(name, std::move(message), has_limit, context.settings.max_sync_events,
                                        FrameBytesOf(context, name));
}

}  // namespace

Request::Request(RelayContext& context, std::shared_ptr<Peer> peer, std::shared_ptr<RequestRoom> room, std::string name,
                 std::vector<Filter> filters, Verb verb, std::string message)
    : context_(context),
      peer_(std::move(peer)),
      room_(std::move(room)),
      name_(std::move(name)),
      verb_(verb),
      gathering_(MakeGathering(context, name_, filters, verb, std::move(message))),
      counting_(verb == Verb::kCount ? static_cast<Counting*>(gathering_.get()) : nullptr),
      sync_(verb == Verb::kNegOpen ? static_cast<SyncDialogue*>(gathering_.get()) : nullptr),
      received_(context.clock.Now()),
      message_head_(verb == Verb::kReq ? EventMessageHead(name_) : ""),
      filters_(std::move(filters)),
      span_(BeginSpan(context.tracer, NameOf(verb), SpanKind::kServer, received_)) {}

// Counts a subscription's filters twice, because the query has a copy of them while it waits and runs.
std::string Request::TakeMemory() {
  const std::shared_ptr<Account>& account = peer_->account();
  const uint64_t filter_bytes = MemoryOf(filters_);
  const uint64_t own_bytes =
      gathering_ ? sizeof(Counting) + sizeof(SyncDialogue) : filter_bytes + LiveIndex::BytesOf(filters_);
  std::optional<HeldBytes> memory =
      HeldBytes::Try(account, kRequestBytes + own_bytes, counting_ != nullptr ? Memory::kWaiting : Memory::kOwn);
  std::optional<HeldBytes> filter_memory = HeldBytes::Try(account, filter_bytes, Memory::kWaiting);
  if (!memory || !filter_memory) {
    return "rate-limited: this relay holds at most " + std::to_string(account->most_address_bytes()) +
           " bytes for one address (requests, answers not yet taken, events under way); CLOSE some requests or ask for "
           "less";
  }
  memory_ = std::move(*memory);
  filter_memory_ = std::move(*filter_memory);
  gathered_memory_ = HeldBytes(account, 0);
  return TakeGatheredMemory();
}

// Counts the bytes that the gathering holds now. Returns the reason for a refusal if there is no room for them.
std::string Request::TakeGatheredMemory() {
  const uint64_t bytes = gathering_ ? gathering_->held_bytes() : 0;
  if (bytes <= gathered_memory_.bytes()) {
    gathered_memory_.GiveBack(gathered_memory_.bytes() - bytes);
    return "";
  }
  if (gathered_memory_.TryAdd(bytes - gathered_memory_.bytes())) return "";
  return sync_ != nullptr ? std::string(kSetTakesTooMuch) : std::string(kTooMuchMemory);
}

void Request::Start() {
  state_ = State::kPaused;
  is_first_slice_ = true;
  if (sync_ != nullptr && !sync_->wants_query()) {
    cost_ = CostOfWalk(kTurnWork);
    return AskGate();
  }
  if (!gathering_) EnterLive();
  const size_t all = filters_.size();
  std::erase_if(filters_, [](const Filter& filter) { return filter.limit == 0; });
  const bool live_only = filters_.size() < all;
  rules_generation_ = context_.rules->generation();
  may_withhold_ = live_only || context_.rules->MayHide(filters_) ||
                  (context_.settings.auth && MayWithhold(filters_, *peer_->identity()));
  std::erase_if(filters_, [](const Filter& filter) { return filter.MatchesNothing(); });
  if (filters_.empty() && sync_ == nullptr) return Finish({}, Completeness::kFinish);
  if (filters_.empty()) sync_->FindNothing();
  PlanQuery();
  AskGate();
}

void Request::PlanQuery() {
  const RelaySettings& settings = context_.settings;
  options_.now_seconds = context_.wall_clock.NowSeconds();
  if (gathering_) {
    cost_ = CostOfCount(filters_);
    options_.default_limit = options_.max_limit = kAllEvents;
    options_.fills_cache = false;
  } else {
    cost_ = CostOfRequest(filters_, settings.default_limit, settings.max_limit);
    options_.default_limit = settings.default_limit;
    options_.max_limit = settings.max_limit;
  }
  if (sync_ != nullptr) {
    options_.max_limit = settings.max_sync_events + 1;  // one more shows that the set is too big
    options_.ids_only = PlanIds();
  }
  options_.visible = [this, identity = peer_->identity()](EventView event) {
    return IsFor(event, *identity) && context_.rules->decided().MaySee(event) && slice_rules_->MaySee(event);
  };
}

bool Request::IsFor(EventView event, const Identity& identity) const {
  return !context_.settings.auth || !IsPrivate(event.kind()) || IsPartyTo(event, identity);
}

void Request::AskGate() {
  if (span_) {
    stage_ = span_.Child("read gate");
    stage_.Set("weir.cost", static_cast<int64_t>(cost_.bytes));
  }
  admission_ = context_.limiter.Admit(Operation::kRead, cost_, peer_->party());
  if (!admission_->waiting()) return AfterGate();
  if (stage_) stage_.Set("weir.reason", admission_->reason());
  state_ = State::kAtGate;
  Suspend();
  admission_->OnSettled(Later(State::kAtGate, &Request::AfterGate));
}

void Request::AfterGate() {
  const Admission::State outcome = admission_->Poll();
  if (state_ == State::kAtGate) context_.counters.ReadGateWait(admission_->waited());
  if (outcome == Admission::State::kAdmitted) return SubmitSlice();
  if (stage_) stage_.Set("weir.outcome", admission_->reason());
  Refuse(RateLimited(*admission_) + ", or ask for less");
}

bool Request::TakeTurn() {
  if (!turn_) turn_ = context_.scan_turns->TryEnter(GroupOf(peer_->party()));
  return turn_ != nullptr;
}

Work Request::WorkDone() const { return (query_ ? query_->work() : 0) + (gathering_ ? gathering_->own_work() : 0); }

// Returns true if the cost at which the gate admitted the request covers the work that it has done.
bool Request::IsCovered() const { return CostOfWalk(WorkDone()).bytes <= cost_.bytes; }

void Request::GoOn() {
  if (TakeTurn()) return GoOnInTurn();
  state_ = State::kInLine;
  admission_.reset();
  Suspend();
  turn_ = context_.scan_turns->Enter(GroupOf(peer_->party()), Later(State::kInLine, &Request::GoOnInTurn));
}

void Request::GoOnInTurn() {
  if (!IsCovered()) {
    cost_.bytes = 2 * CostOfWalk(WorkDone()).bytes;
    admission_.reset();
  }
  admission_ ? SubmitSlice() : AskGate();
}

void Request::SubmitSlice() {
  state_ = State::kReads;
  if (span_) stage_ = span_.Child("scan");
  const Urgency urgency = is_first_slice_ ? Urgency::kUrgent : Urgency::kLong;
  slice_work_ = is_first_slice_ ? std::clamp(WalkOf(cost_), kLeastSlice, kTurnWork) : kTurnWork;
  is_first_slice_ = false;
  context_.pool.Submit(urgency, peer_->party(), slice_work_, [self = shared_from_this()] { return self->RunSlice(); });
}

Work Request::RunSlice() {
  Report report;
  const Work before = WorkDone();
  Work after = before;
  if (state_ == State::kReads) {
    try {
      Walk(&report);
      after = WorkDone();
    } catch (const std::exception& e) {
      report = {.refusal = std::string("error: this could not be answered: ") + e.what()};
      spdlog::error("a request could not be answered: {}", e.what());
    }
  }
  // Releases the query at once, because the report may have to wait for the I/O thread.
  if (report.done || !report.refusal.empty() || state_ == State::kOver) GiveBackQuery();
  boost::asio::post(peer_->executor(),
                    [self = shared_from_this(), report = std::move(report)] { self->OnReport(report); });
  return kSeekWork + (after - before);
}

void Request::Walk(Report* report) {
  const std::shared_ptr<const Rules> rules = context_.rules->Now();
  slice_rules_ = rules.get();
  if (query_ == nullptr && (!gathering_ || gathering_->wants_query()))
    query_ = context_.store.Find(std::move(filters_), options_);
  options_.ids_only.reset();  // the query has what it needs
  const Result<Progress> progress =
      gathering_ ? gathering_->Next(context_.store, query_.get(), slice_work_) : ReadEvents(report);
  if (!progress.ok()) {
    report->refusal = "error: the store cannot be read: " + ErrorForStrangers(progress.status());
    return;
  }
  report->done = progress.value() == Progress::kDone;
  if (gathering_) report->refusal = gathering_->refusal();
  // The index has decided about most events by the rules of the beginning.
  const bool rules_changed = rules_generation_ != context_.rules->generation();
  if (report->done && report->refusal.empty() && sync_ != nullptr && sync_->is_first() && rules_changed)
    report->refusal = "error: the rules of this relay changed while the events were gathered; open it again";
  if (counting_ == nullptr && !report->done && query_ && query_->work() > kMostVisited)
    report->refusal = kLooksAtTooMuch;
  if (report->refusal.empty()) report->refusal = TakeGatheredMemory();
  if (!report->refusal.empty()) return;
  if (report->done && !gathering_) {
    report->complete = query_->complete();
    report->moment = query_->moment();
  }
  if (report->done || !query_) return;
  query_memory_ = HeldBytes(peer_->account(), 0);
  if (!query_memory_.TryAdd(query_->held_bytes())) report->refusal = kTooMuchMemory;
}

Result<Progress> Request::ReadEvents(Report* report) {
  std::string text;
  text.reserve(kSmallAnswer);
  Result<Progress> progress = query_->Next({.max_work = slice_work_}, [&](EventView event) {
    ++found_;
    text.append(message_head_).append(event.json()).append(kEventMessageTail);
    report->ends.push_back(static_cast<uint32_t>(text.size()));
  });
  if (progress.ok() && !report->ends.empty()) report->text = Seal(std::move(text), context_.count_own_bytes);
  return progress;
}

void Request::OnReport(const Report& report) {
  if (room_->is_closed()) return;
  // A closed request keeps its place until its worker has reported, so a client that closes requests and sends new ones
  // cannot have more than kMostAtOnce at work.
  if (state_ == State::kOver) return room_->ReturnPlace();
  if (stage_) stage_.Set("weir.events", static_cast<int64_t>(report.ends.size()));
  stage_.End();
  state_ = State::kPaused;
  if (!report.refusal.empty()) {
    if (PrefixOf(report.refusal) == "error") span_.Fail();
    return Refuse(report.refusal);
  }
  if (!MayRead()) return;
  const bool reads_on = !report.done && !room_->IsBehind(report.bytes()) && TakeTurn() && IsCovered();
  if (reads_on) SubmitSlice();  // a worker reads the next slice while this one is sent
  SayEvents(report);
  if (state_ == State::kOver || reads_on) return;  // sending may have ended the connection
  if (report.done) return Finish(report, report.complete ? Completeness::kFinish : Completeness::kMore);
  if (!room_->IsBehind()) return GoOn();
  admission_.reset();
  turn_.reset();
  Suspend();
  room_->WhenCaughtUp(Later(State::kPaused, &Request::GoOn));
}

// Returns false, and refuses the request, if the client may not read any more.
bool Request::MayRead() {
  const std::string& refusal = room_->RefusalOfReader();
  if (refusal.empty()) return true;
  if (PrefixOf(refusal) == "auth-required") peer_->AskForAuth();
  Refuse(refusal);
  return false;
}

void Request::SayEvents(const Report& report) {
  uint32_t begin = 0;
  for (const uint32_t end : report.ends) {
    const std::string_view message = std::string_view(*report.text).substr(begin, end - begin);
    peer_->SayEvent({.head = {}, .owner = report.text, .body = message, .tail = {}});
    begin = end;
  }
}

void Request::Finish(const Report& report, Completeness completeness) {
  filter_memory_ = HeldBytes();
  if (span_) span_.Set("weir.events", static_cast<int64_t>(gathering_ ? gathering_->events() : found_));
  EndSpan("");
  if (counting_ != nullptr) {
    context_.counters.CountAnswered(counting_->is_estimate());
    peer_->Say(RelayVerb::kCount, counting_->TakeAnswer());
    return room_->Remove(*this);
  }
  if (sync_ != nullptr) return AnswerSync();
  const Duration latency = context_.clock.Now() - received_;
  context_.counters.ReqToEose(latency);
  context_.limiter.RecordLatency(Operation::kRead, latency);
  const bool rules_changed = rules_generation_ != context_.rules->generation();  // and may have hidden events
  const bool unsure = completeness == Completeness::kFinish && (may_withhold_ || rules_changed);
  if (unsure || !context_.settings.eose_completeness) completeness = Completeness::kUnknown;
  completeness_ = completeness;
  moment_ = report.moment;
  const auto may_replace = [](const Held& held) { return held.by_query && HasAddress(held.event.event.view().kind()); };
  before_eose_ = static_cast<size_t>(std::stable_partition(held_.begin(), held_.end(), may_replace) - held_.begin());
  state_ = State::kCatchesUp;
  room_->ReturnPlace();
  SayHeld();
}

// Sets the outcome "ok" if `refusal` is empty, else the prefix of `refusal`.
void Request::EndSpan(std::string_view refusal) {
  if (!span_) return;
  stage_.End();
  const std::string_view prefix = PrefixOf(refusal);
  span_.Set("weir.outcome", prefix.empty() ? "ok" : prefix);
  span_.End();
}

void Request::Refuse(std::string_view reason) {
  EndSpan(reason);
  const bool is_too_big = sync_ != nullptr && state_ != State::kReads && sync_->is_too_big();
  peer_->SayClosed(verb_, name_, reason,
                   is_too_big ? std::optional<uint64_t>(context_.settings.max_sync_events) : std::nullopt);
  room_->Remove(*this);
}

void Request::AnswerNothing() {
  EndSpan("");
  peer_->Say(counting_ != nullptr ? RelayVerb::kCount : RelayVerb::kEose,
             counting_ != nullptr ? counting_->TakeAnswer() : EoseMessage(name_));
  room_->Remove(*this);
}

void Request::Stop() {
  const State was = state_.exchange(State::kOver);
  if (was == State::kReads || was == State::kOver) return;  // in kReads, RunSlice and OnReport release everything
  GiveBackQuery();
  if (was == State::kAtGate || was == State::kPaused || was == State::kInLine) room_->ReturnPlace();
}

void Request::End() {
  Stop();
  EndSpan("closed");
  if (live_.key != 0) context_.delivery.Unsubscribe(peer_->io_thread(), live_);
  room_->LetGo(held_memory_.bytes());
  held_ = {};
  memory_ = HeldBytes();
  filter_memory_ = HeldBytes();
  held_memory_ = HeldBytes();
}

void Request::Suspend() {
  if (query_) query_->Suspend();
  query_memory_ = HeldBytes();
}

void Request::GiveBackQuery() {
  query_.reset();
  query_memory_ = HeldBytes();
  admission_.reset();
  turn_.reset();
}

// Returns a callback for the end of a wait. Any thread may call the callback. It calls `step` on the I/O thread if the
// request is then still in `state`.
std::function<void()> Request::Later(State state, void (Request::*step)()) {
  return [weak = weak_from_this(), executor = peer_->executor(), state, step] {
    boost::asio::post(executor, [weak, state, step] {
      const auto self = weak.lock();
      if (self && self->state_ == state) (self.get()->*step)();
    });
  };
}

}  // namespace weir
