#include "relay/protocol/request.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>
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

}  // namespace

Request::Request(RelayContext& context, std::shared_ptr<Peer> peer, std::shared_ptr<RequestRoom> room, std::string name,
                 std::vector<Filter> filters, bool is_count)
    : context_(context),
      peer_(std::move(peer)),
      room_(std::move(room)),
      name_(std::move(name)),
      counting_(is_count ? std::make_unique<Counting>(filters) : nullptr),
      received_(context.clock.Now()),
      message_head_(is_count ? "" : EventMessageHead(name_)),
      filters_(std::move(filters)),
      span_(BeginSpan(context.tracer, is_count ? "COUNT" : "REQ", SpanKind::kServer, received_)) {}

// Counts a subscription's filters twice, because the query has a copy of them while it waits and runs.
std::string Request::TakeMemory() {
  const std::shared_ptr<Account>& account = peer_->account();
  const uint64_t filter_bytes = MemoryOf(filters_);
  const uint64_t live_bytes = is_count() ? sizeof(Counting) : filter_bytes + LiveIndex::BytesOf(filters_);
  std::optional<HeldBytes> memory =
      HeldBytes::Try(account, kRequestBytes + live_bytes, is_count() ? Memory::kWaiting : Memory::kOwn);
  std::optional<HeldBytes> filter_memory = HeldBytes::Try(account, filter_bytes, Memory::kWaiting);
  if (!memory || !filter_memory) {
    return "rate-limited: this relay holds at most " + std::to_string(account->most_address_bytes()) +
           " bytes for one address (requests, answers not yet taken, events under way); CLOSE some requests or ask for "
           "less";
  }
  memory_ = std::move(*memory);
  filter_memory_ = std::move(*filter_memory);
  return "";
}

void Request::Start() {
  state_ = State::kPaused;
  if (!is_count()) EnterLive();
  const size_t all = filters_.size();
  std::erase_if(filters_, [](const Filter& filter) { return filter.limit == 0; });
  const bool live_only = filters_.size() < all;
  rules_generation_ = context_.rules->generation();
  may_withhold_ = live_only || context_.rules->MayHide(filters_) ||
                  (context_.settings.auth && MayWithhold(filters_, *peer_->identity()));
  std::erase_if(filters_, [](const Filter& filter) { return filter.MatchesNothing(); });
  if (filters_.empty()) return Finish({}, Completeness::kFinish);
  PlanQuery();
  AskGate();
}

// Subscribes with the filters that a future event can match; matching events with the others would be useless work. The
// filters of the query come first.
void Request::EnterLive() {
  const uint64_t now = context_.wall_clock.NowSeconds();
  const uint64_t past = context_.settings.created_at_past_s;
  const uint64_t oldest = past > 0 && now > past ? now - past : 0;
  std::vector<Filter> live;
  const auto add = [&](bool of_query) {
    for (const Filter& filter : filters_)
      if ((filter.limit != 0) == of_query && !filter.MatchesNothing() && filter.until >= oldest) live.push_back(filter);
  };
  live.reserve(filters_.size());
  add(true);
  const size_t of_query = live.size();
  add(false);
  live_ = context_.delivery.Subscribe(peer_->io_thread(), peer_->party().group, peer_->account(), std::move(live),
                                      of_query, this);
}

void Request::PlanQuery() {
  const RelaySettings& settings = context_.settings;
  options_.now_seconds = context_.wall_clock.NowSeconds();
  if (is_count()) {
    cost_ = CostOfCount(filters_);
    options_.default_limit = options_.max_limit = kAllEvents;
    options_.fills_cache = false;
  } else {
    cost_ = CostOfRequest(filters_, settings.default_limit, settings.max_limit);
    options_.default_limit = settings.default_limit;
    options_.max_limit = settings.max_limit;
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

Work Request::WorkDone() const { return query_->work() + (counting_ ? counting_->own_work() : 0); }

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
  const Urgency urgency = query_ == nullptr ? Urgency::kUrgent : Urgency::kLong;
  slice_work_ = query_ == nullptr ? std::clamp(WalkOf(cost_), kLeastSlice, kTurnWork) : kTurnWork;
  context_.pool.Submit(urgency, peer_->party(), slice_work_, [self = shared_from_this()] { return self->RunSlice(); });
}

Work Request::RunSlice() {
  Report report;
  const Work before = query_ ? WorkDone() : 0;
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
  if (query_ == nullptr) query_ = context_.store.Find(std::move(filters_), options_);
  const Result<Progress> progress =
      counting_ ? counting_->Next(context_.store, *query_, slice_work_) : ReadEvents(report);
  if (!progress.ok()) {
    report->refusal = "error: the store cannot be read: " + ErrorForStrangers(progress.status());
    return;
  }
  report->done = progress.value() == Progress::kDone;
  if (counting_ ? counting_->gave_up() : !report->done && query_->work() > kMostVisited) {
    report->refusal = "restricted: this looks at too much; narrow the filter by ids, authors, tags or time";
    return;
  }
  if (report->done) {
    report->complete = !counting_ && query_->complete();
    report->moment = query_->moment();
    return;
  }
  query_memory_ = HeldBytes(peer_->account(), 0);
  if (!query_memory_.TryAdd(query_->held_bytes()))
    report->refusal = "rate-limited: the requests of your address hold too much memory; ask for less at once";
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
  if (span_) span_.Set("weir.events", static_cast<int64_t>(counting_ ? counting_->count() : found_));
  EndSpan("");
  if (counting_) {
    context_.counters.CountAnswered(counting_->is_estimate());
    peer_->Say(RelayVerb::kCount, counting_->Message(name_));
    return room_->Remove(*this);
  }
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

// Sends as many held events as fit into a turn; the others follow in the next turns.
void Request::SayHeld() {
  for (Work left = kTurnWork; left > 0 && state_ == State::kCatchesUp; left -= kDeliveryWork) {
    if (before_eose_ == 0 && !std::exchange(said_eose_, true))
      peer_->Say(RelayVerb::kEose, EoseMessage(name_, completeness_));
    if (held_.empty()) break;
    const Held held = std::move(held_.front());
    held_.pop_front();
    if (before_eose_ > 0) --before_eose_;
    held_memory_.GiveBack(held.bytes());
    room_->LetGo(held.bytes());
    SayLive(held.event, held.by_query);
  }
  if (!held_.empty() || !said_eose_) return Later(State::kCatchesUp, &Request::SayHeld)();
  if (state_ == State::kCatchesUp) state_ = State::kLives;
  held_ = {};
  held_memory_ = HeldBytes();
}

void Request::OnLive(const LiveEvent& event, bool by_query) {
  if (state_ == State::kOver || !MayRead()) return;
  if (state_ == State::kLives) return SayLive(event, by_query);
  const Held held{event, by_query};
  if (held_.empty()) held_memory_ = HeldBytes(peer_->account(), 0, Memory::kShared);
  if (!room_->MayHold(held.bytes()) || !held_memory_.TryAdd(held.bytes()))
    return Refuse("error: too many new events arrived while the stored events were being sent");
  room_->Hold(held.bytes());
  held_.push_back(held);
}

void Request::OnTooCostly() {
  Refuse(
      "rate-limited: new events come faster than they can be matched with all that your address subscribes to; "
      "subscribe to less, or with fewer conditions");
}

void Request::SayLive(const LiveEvent& event, bool by_query) {
  if (by_query && event.serial.number != 0 && moment_.Has(event.serial)) return;
  const EventView view = event.event.view();
  if (!IsFor(view, *peer_->identity()) || !context_.rules->MaySee(view)) return;
  peer_->SayEvent(
      {.head = message_head_, .owner = event.event.record(), .body = view.json(), .tail = kEventMessageTail});
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
  peer_->SayClosed(is_count() ? Verb::kCount : Verb::kReq, name_, reason);
  room_->Remove(*this);
}

void Request::AnswerNothing() {
  EndSpan("");
  peer_->Say(counting_ ? RelayVerb::kCount : RelayVerb::kEose,
             counting_ ? counting_->Message(name_) : EoseMessage(name_));
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
