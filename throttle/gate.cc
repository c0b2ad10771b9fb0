#include "throttle/gate.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace weir {
namespace {

// A wait that cannot be foretold, because the rate is zero, is told as this long.
constexpr double kLongestForetoldSeconds = 3600;

Duration Foretold(double seconds) { return FromSeconds(std::min(seconds, kLongestForetoldSeconds)); }

}  // namespace

Gate::Gate(const Clock& clock, std::function<void(TimePoint)> wake) : clock_(clock), wake_(std::move(wake)) {
  SetLimits({});
}

Gate::~Gate() { assert(deadlines_.empty() && "an Admission outlived its gate"); }

Admission Gate::Admit(Cost cost, Party party) {
  const WorkClass c = party.work_class;
  const uint64_t bytes = std::min(cost.bytes, kMostBytes);
  std::lock_guard lock(mutex_);
  const TimePoint now = clock_.Now();
  Admission admission;
  if (limits_.open) {
    if (LineOf(c).bucket.unlimited()) {
      CountAdmitted(cost, c);
      return admission;
    }
    limits_.open = false;
    open_epoch_.store(0, std::memory_order_relaxed);
    Close(now);
  }
  Refill(now);
  const GateLimits::ForClass& limit = limits_[c];
  if (limit.refuse_expensive && IsExpensive(bytes)) return Refuse(limit.reason, ToSeconds(limit.longest_wait));
  Line& line = LineOf(c);
  // What no limit counts does not stand behind those that wait for one.
  const bool uncounted = line.bucket.unlimited() && !IsExpensive(bytes) && !limit.hold;
  if ((uncounted || line.queue.empty()) && MayPass(c, bytes)) {
    Charge(c, bytes);
    if (TakeSlot(bytes)) admission.gate_ = this;
    return admission;
  }
  if (line.queue.size() >= kMaxWaiting) return Refuse("queue full", ToSeconds(limit.longest_wait));
  const double until_turn_s = SecondsUntilTurn(c, bytes, line.queue.BytesAhead(party));
  if (until_turn_s > ToSeconds(limit.longest_wait)) {
    line.pressed = true;
    return Refuse(limit.reason, until_turn_s);
  }
  return Enqueue(bytes, party, Foretold(until_turn_s), now);
}

Admission Gate::Refuse(std::string_view reason, double retry_after_s) {
  ++stats_.refused[reason];
  Admission admission;
  admission.state_ = Admission::State::kRefused;
  admission.reason_ = reason;
  admission.retry_after_ = Foretold(retry_after_s);
  return admission;
}

Admission Gate::Enqueue(uint64_t bytes, Party party, Duration until_turn, TimePoint now) {
  std::unique_ptr<Waiter, WaiterDeleter> waiter(new Waiter);
  waiter->party = party;
  waiter->bytes = bytes;
  waiter->since = now;
  waiter->deadline = now + limits_[party.work_class].longest_wait;
  Line& line = LineOf(party.work_class);
  line.queue.Push(*waiter);
  line.pressed = true;
  deadlines_.emplace(waiter->deadline, waiter.get());
  ++stats_.delayed;

  Admission admission;
  admission.gate_ = this;
  admission.state_ = Admission::State::kWaiting;
  admission.wait_until_ = now + until_turn;
  admission.reason_ = limits_[party.work_class].reason;
  admission.waiter_ = std::move(waiter);
  WakeAt(std::min(admission.wait_until_, admission.waiter_->deadline));
  return admission;
}

void Gate::SetLimits(const GateLimits& limits) {
  std::lock_guard lock(mutex_);
  const TimePoint now = clock_.Now();
  const bool closing = limits_.open && !limits.open;
  limits_ = limits;
  const double bulk_rate = limits[WorkClass::kBulk].bytes_per_second;
  for (WorkClass c : {WorkClass::kInteractive, WorkClass::kBulk})
    LineOf(c).bucket.SetRate(now, limits[c].bytes_per_second, limits.burst_bytes);
  bulk_floor_.SetRate(now, kBulkFloor * bulk_rate, limits.burst_bytes);
  if (closing) Close(now);
  if (limits.open) {
    const bool bounded = std::isfinite(bulk_rate);
    open_allowance_.store(
        bounded ? static_cast<uint64_t>(kOpenShareOfBurst * limits.burst_bytes) : std::numeric_limits<uint64_t>::max(),
        std::memory_order_relaxed);
    if (++epoch_ == 0) ++epoch_;
  }
  open_epoch_.store(limits.open ? epoch_ : 0, std::memory_order_relaxed);
  RefuseExpensiveLocked(now);
  WakeAt(PumpLocked(now));
}

// While it was open nothing was charged; bulk starts without credit, so the brake is felt at once.
void Gate::Close(TimePoint now) {
  LineOf(WorkClass::kInteractive).bucket.SetTokens(now, limits_.burst_bytes);
  LineOf(WorkClass::kBulk).bucket.SetTokens(now, 0);
  bulk_floor_.SetTokens(now, 0);
}

TimePoint Gate::Pump() {
  std::lock_guard lock(mutex_);
  return next_wake_ = PumpLocked(clock_.Now());
}

void Gate::RefuseAll(std::string_view reason) {
  std::lock_guard lock(mutex_);
  const TimePoint now = clock_.Now();
  while (!deadlines_.empty()) {
    Waiter& waiter = *deadlines_.begin()->second;
    Detach(waiter);
    RefuseDetached(waiter, reason, 0, now);
  }
}

bool Gate::TakePressed(WorkClass work_class) {
  std::lock_guard lock(mutex_);
  Line& line = LineOf(work_class);
  return std::exchange(line.pressed, !line.queue.empty());
}

GateStats Gate::Stats() const {
  std::lock_guard lock(mutex_);
  GateStats stats = stats_;
  for (int c = 0; c < kWorkClasses; ++c) stats.admitted[c] = admitted_[c].Sum();
  stats.waiting = deadlines_.size();
  stats.running = running_;
  return stats;
}

bool Gate::MayPass(WorkClass c, uint64_t bytes) const {
  if (limits_.open) return true;
  if (Blocked(c, bytes)) return false;
  const double cost = static_cast<double>(bytes);
  if (lines_[static_cast<size_t>(c)].bucket.Has(cost)) return true;
  return c == WorkClass::kBulk && bulk_floor_.Has(cost);
}

// No passing of time lets it through, only a change of limits or the end of a permit.
bool Gate::Blocked(WorkClass c, uint64_t bytes) const {
  return limits_[c].hold || (IsExpensive(bytes) && running_ >= limits_.concurrency);
}

double Gate::SecondsUntilTurn(WorkClass c, uint64_t bytes, uint64_t bytes_ahead) const {
  const double cost = static_cast<double>(bytes);
  const double ahead = static_cast<double>(bytes_ahead);
  double seconds = lines_[static_cast<size_t>(c)].bucket.SecondsUntil(cost, ahead);
  if (c == WorkClass::kBulk) seconds = std::min(seconds, bulk_floor_.SecondsUntil(cost, ahead));
  return Blocked(c, bytes) ? std::max(seconds, ToSeconds(limits_[c].longest_wait)) : seconds;
}

void Gate::Charge(WorkClass c, uint64_t bytes) {
  admitted_[static_cast<size_t>(c)].Add(bytes);
  const double cost = static_cast<double>(bytes);
  TokenBucket& bulk = LineOf(WorkClass::kBulk).bucket;
  if (c == WorkClass::kInteractive) {
    LineOf(c).bucket.Take(cost);
    // Bulk pays for interactive work, but not for longer than about a second.
    bulk.Take(cost, -bulk.bytes_per_second());
    return;
  }
  // What the bulk bucket pays for leaves no debt on the floor: the floor has to be there when interactive work comes.
  const bool by_floor = !bulk.Has(cost);
  bulk_floor_.Take(cost, by_floor ? -std::numeric_limits<double>::infinity() : 0);
  bulk.Take(cost);
}

bool Gate::TakeSlot(uint64_t bytes) {
  if (limits_.concurrency == std::numeric_limits<int64_t>::max() || !IsExpensive(bytes)) return false;
  ++running_;
  return true;
}

TimePoint Gate::PumpLocked(TimePoint now) {
  Refill(now);
  GrantLocked(WorkClass::kInteractive, now);
  GrantLocked(WorkClass::kBulk, now);
  ExpireLocked(now);
  if (deadlines_.empty()) return TimePoint::max();

  TimePoint next = deadlines_.begin()->first;
  for (WorkClass c : {WorkClass::kInteractive, WorkClass::kBulk}) {
    const Waiter* front = LineOf(c).queue.Front();
    if (front == nullptr || Blocked(c, front->bytes)) continue;
    // Rounded up: a nanosecond early would find the bucket short and spin.
    next = std::min(next, now + Foretold(SecondsUntilTurn(c, front->bytes, 0)) + std::chrono::microseconds(1));
  }
  return next;
}

void Gate::GrantLocked(WorkClass c, TimePoint now) {
  FairQueue& queue = LineOf(c).queue;
  while (Waiter* front = queue.Front()) {
    if (!MayPass(c, front->bytes)) return;
    queue.PopServed();
    deadlines_.erase({front->deadline, front});
    Charge(c, front->bytes);
    front->holds_slot = TakeSlot(front->bytes);
    Settle(*front, Admission::State::kAdmitted, now);
  }
}

void Gate::ExpireLocked(TimePoint now) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    Waiter& waiter = *deadlines_.begin()->second;
    const WorkClass c = waiter.party.work_class;
    Detach(waiter);
    const uint64_t ahead = LineOf(c).queue.BytesAhead(waiter.party);
    RefuseDetached(waiter, limits_[c].reason, SecondsUntilTurn(c, waiter.bytes, ahead), now);
  }
}

void Gate::RefuseExpensiveLocked(TimePoint now) {
  for (auto next = deadlines_.begin(); next != deadlines_.end();) {
    Waiter& waiter = *(next++)->second;
    const GateLimits::ForClass& limit = limits_[waiter.party.work_class];
    if (!limit.refuse_expensive || !IsExpensive(waiter.bytes)) continue;
    Detach(waiter);
    RefuseDetached(waiter, limit.reason, ToSeconds(limit.longest_wait), now);
  }
}

void Gate::RefuseDetached(Waiter& waiter, std::string_view reason, double retry_after_s, TimePoint now) {
  waiter.reason = reason;
  waiter.retry_after = Foretold(retry_after_s);
  ++stats_.refused[reason];
  Settle(waiter, Admission::State::kRefused, now);
}

// The notifications stay under the lock: the waiter may be destroyed as soon as its owner can take it.
void Gate::Settle(Waiter& waiter, Admission::State state, TimePoint now) {
  waiter.state = state;
  waiter.settled_at = std::max(now, waiter.since);
  stats_.waited += waiter.settled_at - waiter.since;
  waiter.settled.notify_one();
  if (waiter.on_settled) std::exchange(waiter.on_settled, nullptr)();
}

void Gate::Detach(Waiter& waiter) {
  LineOf(waiter.party.work_class).queue.Remove(waiter);
  deadlines_.erase({waiter.deadline, &waiter});
}

void Gate::WakeAt(TimePoint when) {
  if (when >= next_wake_) return;
  next_wake_ = when;
  wake_(when);
}

void Gate::Refill(TimePoint now) {
  for (Line& line : lines_) line.bucket.Refill(now);
  bulk_floor_.Refill(now);
}

// The waiter's outcome becomes the admission's. Under the lock.
void Gate::TakeOver(Admission& admission) {
  Waiter& waiter = *admission.waiter_;
  if (waiter.state == Admission::State::kWaiting) return;
  admission.state_ = waiter.state;
  admission.waited_ = waiter.settled_at - waiter.since;
  if (waiter.state == Admission::State::kRefused) {
    admission.reason_ = waiter.reason;
    admission.retry_after_ = waiter.retry_after;
  }
  if (!waiter.holds_slot) admission.gate_ = nullptr;
  admission.waiter_.reset();
}

// What the admission still owes: its place in the queue, or its slot. Under the lock.
void Gate::Release(Admission& admission) {
  if (admission.waiter_ != nullptr) TakeOver(admission);
  if (admission.waiter_ != nullptr) {
    Detach(*admission.waiter_);
    ++stats_.cancelled;
    stats_.waited += std::max(Duration::zero(), clock_.Now() - admission.waiter_->since);
    admission.waiter_.reset();
  } else if (admission.gate_ != nullptr) {
    --running_;
  } else {
    return;
  }
  admission.gate_ = nullptr;
  WakeAt(PumpLocked(clock_.Now()));
}

}  // namespace weir
