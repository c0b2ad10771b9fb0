#include "throttle/gate.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>

namespace weir {
namespace {

// Bounds the memory of waiting requests, each of which takes at most about 1200 bytes.
constexpr size_t kMaxWaiting = 10'000;  // requests in each class

// The gates whose OnSettled functions this thread is running, the innermost first.
struct Telling {
  const Gate* gate;
  const Telling* outer;
};
thread_local constinit const Telling* telling_here = nullptr;

bool IsTellingHere(const Gate* gate) {
  const Telling* t = telling_here;
  while (t != nullptr && t->gate != gate) t = t->outer;
  return t != nullptr;
}

// Calls `settled` and destroys it, with all that it owns. Returns false if it threw.
bool CallsWithoutThrowing(std::function<void()> settled) {
  const auto report = [](const char* thrown) {
    std::fprintf(stderr, "weir: a function that Admission::OnSettled was given threw %s; it must not\n", thrown);
    return false;
  };
  try {
    settled();
    return true;
  } catch (const std::exception& e) {
    return report(e.what());
  } catch (...) {
    return report("something that is no std::exception");
  }
}

// The longest wait that a prediction returns; at a rate of 0, where the wait would be infinite, it returns this.
constexpr double kLongestForetoldSeconds = 3600;

// Every time of a turn is rounded up: a Pump that runs a nanosecond too early would find too few bytes in the bucket,
// and would be repeated at once.
constexpr Duration kRoundUp = std::chrono::microseconds(1);

Duration Foretold(double seconds) { return FromSeconds(std::min(seconds, kLongestForetoldSeconds)); }

// A thread that sleeps in Wait is woken if its turn comes earlier than it expects by more than this.
constexpr Duration kLatestLook = std::chrono::milliseconds(1);

// Returns the reason of a refusal of a write of `bytes` bytes, at most 1 TiB, that is too large to be admitted in time.
// The text names the size only as a power of two, so that a few texts suffice, which live as long as the program.
std::string_view TooLarge(WorkClass c, uint64_t bytes) {
  static const auto texts = [] {
    ByClass<std::array<std::string, 41>> all;
    for (size_t n = 0; n < all[0].size(); ++n) {
      constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
      const std::string size = std::to_string(1 << n % 10) + ' ' + kUnits[n / 10];
      const std::string text = "a write of at least " + size + " takes longer than the longest wait: split it";
      all[WorkClass::kBulk][n] = text;
      all[WorkClass::kInteractive][n] = text + ", or declare it as bulk work";
    }
    return all;
  }();
  return texts[c][static_cast<size_t>(std::bit_width(std::max<uint64_t>(bytes, 1)) - 1)];
}

}  // namespace

Gate::~Gate() {
  // In a forked child, the requests of the parent's other threads wait for ever.
  assert((IsForked() || (deadlines_.empty() && to_tell_.empty())) && "an Admission outlived its gate");
}

Admission Gate::Admit(Cost cost, Party party) {
  const MutexLock lock(mutex_);
  return Decide(party, cost.bytes, clock_.Now());
}

Admission Gate::AdmitInTurn(Party party, uint64_t bytes, TimePoint now) {
  Line& line = lines_[party.work_class];
  const WorkClass c = party.work_class;
  if (line.queue.empty() && MayPass(c, bytes)) return Admission({}, Charge(c, bytes, bytes) ? this : nullptr);
  if (line.queue.size() >= kMaxWaiting) return Refuse(c, "queue full", ToSeconds(line.longest_wait));
  line.pressed = true;
  const uint64_t ahead = line.queue.BytesAhead(party, bytes) + bytes;
  const double until_turn_s = Foretell(c, ahead);
  if (until_turn_s > ToSeconds(line.longest_wait)) return RefuseAsTooLong(party, bytes, until_turn_s);

  auto waiter = std::make_shared<Waiter>();
  waiter->party = party;
  waiter->bytes = bytes;
  waiter->is_large = bytes > Piece(c);
  waiter->since = now;
  waiter->deadline = now + line.longest_wait;
  waiter->answer.reason = line.reason;
  waiter->answer.wait_until = now + Foretold(until_turn_s);
  waiter->turn_at = now + Foretold(SecondsUntil(c, ahead)) + kRoundUp;
  line.queue.Push(*waiter);
  deadlines_.emplace(waiter->deadline, waiter.get());
  ++stats_.delayed;
  // The caller usually waits next (Wait, SetOnSettled, Poll), and says thereby which thread is to see to the turn.
  WakeAt(waiter->deadline);
  return Admission(waiter->answer, this, waiter);
}

// Refuses a request that cannot be admitted in time. The reason says whether the request itself is too large for that,
// even without what others owe.
Admission Gate::RefuseAsTooLong(Party party, uint64_t bytes, double seconds) {
  const WorkClass c = party.work_class;
  const Line& line = lines_[c];
  const double alone_s = Foretell(c, bytes) - Foretell(c, 0);
  if (line.blames_size && bytes > Piece(c) && alone_s > ToSeconds(line.longest_wait))
    return RefuseSize(c, "too large", seconds, TooLarge(c, bytes));
  return Refuse(c, line.reason, seconds);
}

Admission Gate::Refuse(WorkClass c, std::string_view reason, double retry_after_s) {
  ++stats_.refused[reason];
  ++stats_.waits[c].refused;
  return Admission({.state = Admission::State::kRefused, .reason = reason, .retry_after = Foretold(retry_after_s)});
}

Admission Gate::RefuseSize(WorkClass c, std::string_view key, double retry_after_s, std::string_view reason) {
  ++stats_.refused[key];
  ++stats_.waits[c].refused;
  return Admission({.state = Admission::State::kRefused,
                    .reason = reason,
                    .retry_after = Foretold(retry_after_s),
                    .too_large = true});
}

void Gate::AdmitAnyway(Cost cost, WorkClass work_class) {
  if (cost.bytes > kLargestCost) return;
  CountAdmitted(work_class, cost.bytes);
  const MutexLock lock(mutex_);
  Refill(clock_.Now());
  Owe(work_class, cost.bytes);
}

void Gate::SetOpen(bool open, uint64_t allowance) {
  if (open) {
    open_allowance_.store(allowance, std::memory_order_relaxed);
    if (++last_epoch_ == 0) ++last_epoch_;
  }
  open_epoch_.store(open ? last_epoch_ : 0, std::memory_order_release);
}

TimePoint Gate::Pump() {
  const SettlingLock lock(*this);
  return next_wake_ = PumpLocked(clock_.Now());
}

void Gate::RefuseAll(std::string_view reason) {
  const SettlingLock lock(*this);
  const TimePoint now = clock_.Now();
  while (!deadlines_.empty()) Refuse(*deadlines_.begin()->second, reason, 0, now);
}

bool Gate::TakePressed(WorkClass work_class) {
  const MutexLock lock(mutex_);
  Line& line = lines_[work_class];
  return std::exchange(line.pressed, !line.queue.empty());
}

GateStats Gate::Stats() const {
  const MutexLock lock(mutex_);
  GateStats stats = stats_;
  for (int c = 0; c < kWorkClasses; ++c) {
    stats.admitted[c] = admitted_[c].Sum();
    stats.waits[c].waiting = lines_[c].queue.size();
  }
  stats.waiting = deadlines_.size();
  stats.running = running_;
  return stats;
}

bool Gate::Charge(WorkClass c, uint64_t bytes, uint64_t unpaid) {
  admitted_[c].Add(bytes);
  const bool permit = Pay(c, unpaid);
  if (permit) ++running_;
  return permit;
}

TimePoint Gate::PumpLocked(TimePoint now) {
  Refill(now);
  Grant(WorkClass::kInteractive, now);
  Grant(WorkClass::kBulk, now);
  Expire(now);
  return NextPump(now);
}

void Gate::Grant(WorkClass c, TimePoint now) {
  Line& line = lines_[c];
  while (Waiter* const next = NextInTurn(c)) {
    const uint64_t payment = NextPayment(*next);
    if (!MayPass(c, payment)) return;
    line.small_turn = next->is_large ? payment : line.small_turn - std::min(line.small_turn, payment);
    if (payment < next->bytes - next->paid) {
      Pay(c, payment);
      line.queue.Pay(*next, payment);
      continue;
    }
    line.queue.PopServed(*next);
    deadlines_.erase({next->deadline, next});
    Pass(*next, now);
  }
}

// Returns the waiting request that pays next. After each piece of a large request, small ones may take as many bytes.
Waiter* Gate::NextInTurn(WorkClass c) const {
  const Line& line = lines_[c];
  Waiter* const front = line.queue.Front();
  if (front == nullptr || !front->is_large || line.small_turn == 0) return front;
  Waiter* const small = line.queue.FrontSmall();
  return small != nullptr ? small : front;
}

uint64_t Gate::NextPayment(const Waiter& waiter) const {
  return std::min(waiter.bytes - waiter.paid, Piece(waiter.party.work_class));
}

TimePoint Gate::TimeOfPayment(const Waiter& waiter, TimePoint now) const {
  return now + Foretold(SecondsUntil(waiter.party.work_class, NextPayment(waiter))) + kRoundUp;
}

// Returns when Pump must be called next. If a thread sleeps in Wait for the next in turn, Pump need not be called for
// it: that thread looks by itself, and is told here if it would look too late. REQUIRES: Refill(now) was called.
TimePoint Gate::NextPump(TimePoint now) {
  if (deadlines_.empty()) return TimePoint::max();
  TimePoint next = deadlines_.begin()->first;
  for (WorkClass c : {WorkClass::kInteractive, WorkClass::kBulk}) {
    Waiter* const in_turn = NextInTurn(c);
    if (in_turn == nullptr) continue;
    const TimePoint due = TimeOfPayment(*in_turn, now);
    if (!in_turn->looks_at) {
      next = std::min(next, due);
    } else if (due + kLatestLook < *in_turn->looks_at) {
      in_turn->looks_at = due;
      in_turn->changed.notify_all();
    }
  }
  return next;
}

// Returns when the turn of a waiting request will probably come, but never a time before the next payment, because
// nothing changes until then. REQUIRES: Refill(now) was called.
TimePoint Gate::NextLook(const Waiter& waiter, TimePoint now) const {
  const WorkClass c = waiter.party.work_class;
  const TimePoint payment = TimeOfPayment(*NextInTurn(c), now);
  const TimePoint turn = now + Foretold(SecondsUntil(c, lines_[c].queue.BytesAhead(waiter.party, 0)));
  return std::min(NextInTurn(c) == &waiter ? payment : std::max(payment, turn), waiter.deadline);
}

void Gate::PassOutOfTurn(Waiter& waiter, TimePoint now) {
  Detach(waiter);
  Pass(waiter, now);
}

void Gate::Pass(Waiter& waiter, TimePoint now) {
  waiter.has_permit = Charge(waiter.party.work_class, waiter.bytes, waiter.bytes - waiter.paid);
  waiter.answer.state = Admission::State::kAdmitted;
  Settle(waiter, now);
}

void Gate::Expire(TimePoint now) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    Waiter& waiter = *deadlines_.begin()->second;
    const WorkClass c = waiter.party.work_class;
    Refuse(waiter, lines_[c].reason, 0, now);
    const uint64_t ahead = lines_[c].queue.BytesAhead(waiter.party, waiter.bytes);
    // Never 0: the bucket may lack less than a nanosecond's bytes.
    waiter.answer.retry_after = Foretold(Foretell(c, ahead + waiter.bytes)) + std::chrono::microseconds(1);
    if (waiter.paid > 0) Grant(c, now);  // its payments may suffice for a request with the same deadline
  }
}

void Gate::Refuse(Waiter& waiter, std::string_view reason, double retry_after_s, TimePoint now) {
  Detach(waiter);
  ++stats_.refused[reason];
  ++stats_.waits[waiter.party.work_class].refused;
  waiter.answer.state = Admission::State::kRefused;
  waiter.answer.reason = reason;
  waiter.answer.retry_after = Foretold(retry_after_s);
  Settle(waiter, now);
}

// Notifies under the lock, because the waiter may be destroyed as soon as its owner can take the lock.
void Gate::Settle(Waiter& waiter, TimePoint now) {
  waiter.answer.waited = EndWait(waiter, now);
  waiter.changed.notify_all();
  if (waiter.on_settled) to_tell_.push_back(waiter.shared_from_this());
}

Duration Gate::EndWait(const Waiter& waiter, TimePoint now) {
  const Duration waited = std::max(Duration::zero(), now - waiter.since);
  GateStats::Waits& waits = stats_.waits[waiter.party.work_class];
  ++waits.ended;
  waits.time += waited;
  stats_.waited += waited;
  return waited;
}

// The next in turn inherits what the waiter has paid, and the limits get back what it does not need. So a large request
// that ends without admission wastes little of what the limits allow.
void Gate::Detach(Waiter& waiter) {
  FairQueue& queue = lines_[waiter.party.work_class].queue;
  queue.Remove(waiter);
  deadlines_.erase({waiter.deadline, &waiter});
  if (waiter.paid == 0) return;
  Waiter* const heir = queue.Front();
  const uint64_t inherited = heir == nullptr ? 0 : std::min(waiter.paid, heir->bytes - heir->paid);
  if (heir != nullptr) queue.Pay(*heir, inherited);
  PayBack(waiter.party.work_class, waiter.paid - inherited);
}

// Releases the place in the queue or the permit that an Admission still holds.
void Gate::Release(Waiter* waiter) {
  if (waiter != nullptr && waiter->waits()) {
    Detach(*waiter);
    ++stats_.cancelled;
    EndWait(*waiter, clock_.Now());
  } else if (waiter == nullptr || waiter->has_permit) {
    --running_;
  } else {
    return;
  }
  PumpAndWake();
}

void Gate::WakeAt(TimePoint when) {
  if (when >= next_wake_) return;
  next_wake_ = when;
  wake_(when);
}

// If a function settles other waiters, the outermost Tell runs their functions, because a recursion could be as deep as
// the queue is long.
void Gate::Tell() {
  if (to_tell_.empty() || IsTellingHere(this)) return;
  while (!to_tell_.empty()) {
    const std::shared_ptr<Waiter> waiter = std::move(to_tell_.front());
    to_tell_.pop_front();
    TellOne(*waiter);
  }
}

// Runs the waiter's function with the lock released, unless the function has already run or was removed.
void Gate::TellOne(Waiter& waiter) {
  if (!waiter.on_settled) return;
  waiter.teller = std::this_thread::get_id();
  std::function<void()> settled = std::exchange(waiter.on_settled, nullptr);
  mutex_.unlock();
  const Telling here{this, telling_here};
  telling_here = &here;
  const bool well = CallsWithoutThrowing(std::move(settled));
  telling_here = here.outer;
  mutex_.lock();
  if (!well) ++stats_.failed_callbacks;
  waiter.teller = {};
  waiter.changed.notify_all();
}

// Runs the settled waiter's function, or waits until the thread that is running it has finished. Does not wait if the
// calling thread is running it.
void Gate::FinishTelling(Waiter& waiter) {
  TellOne(waiter);
  waiter.changed.wait(
      mutex_, [&waiter] { return waiter.teller == std::thread::id() || waiter.teller == std::this_thread::get_id(); });
}

// Gives the admission the waiter's answer, if there is one.
Admission::State Gate::GiveAnswer(Admission& admission, Waiter& waiter) {
  const Admission::State state = waiter.answer.state;
  if (!waiter.waits()) Give(admission, waiter.answer, !waiter.is_being_told(), waiter.has_permit);
  return state;
}

Admission::State Gate::Poll(Admission& admission, Waiter& waiter) {
  const SettlingLock lock(*this);
  PumpAndWake();
  return GiveAnswer(admission, waiter);
}

// The OnSettled functions of other requests are left to the limiter's thread: this thread may hold a lock that they
// need.
Admission::State Gate::Wait(Admission& admission, Waiter& waiter) {
  MutexLock lock(mutex_);
  if (waiter.waits()) {
    const TimePoint now = clock_.Now();
    Refill(now);  // the caller may have done something else since it asked
    const bool is_next = NextInTurn(waiter.party.work_class) == &waiter;
    waiter.looks_at = is_next ? NextLook(waiter, now) : std::min(waiter.turn_at, waiter.deadline);
  }
  while (waiter.waits()) {
    const TimePoint now = clock_.Now();
    const TimePoint look = *waiter.looks_at;
    if (now < look) {
      waiter.changed.wait_for(lock, look - now, [&] { return !waiter.waits() || waiter.looks_at != look; });
      continue;
    }
    WakeAt(PumpLocked(now));
    if (!to_tell_.empty()) WakeAt(now);
    if (waiter.waits()) waiter.looks_at = NextLook(waiter, now);
  }
  waiter.looks_at.reset();
  return GiveAnswer(admission, waiter);
}

bool Gate::SetOnSettled(Waiter& waiter, std::function<void()>* settled) {
  const MutexLock lock(mutex_);
  if (!waiter.waits()) return false;
  waiter.on_settled.swap(*settled);
  const TimePoint now = clock_.Now();
  Refill(now);
  WakeAt(NextPump(now));
  return true;
}

bool Gate::Cancel(Admission& admission, Waiter& waiter) {
  std::function<void()> forgotten;  // destroyed after the unlock: it may own an Admission of this gate
  const SettlingLock lock(*this);
  if (!waiter.waits()) {
    // GiveAnswer may release the waiter, and the waiter's function may destroy the admission.
    const std::shared_ptr<Waiter> kept = waiter.shared_from_this();
    GiveAnswer(admission, *kept);
    FinishTelling(*kept);
    return false;
  }
  forgotten.swap(waiter.on_settled);
  Admission::Answer cancelled = waiter.answer;
  cancelled.state = Admission::State::kRefused;
  cancelled.reason = "cancelled";
  Release(&waiter);
  Give(admission, cancelled, true, false);
  return true;
}

void Gate::End(Waiter* waiter) {
  std::function<void()> forgotten;  // destroyed after the unlock: it may own an Admission of this gate
  const SettlingLock lock(*this);
  if (waiter != nullptr) {
    forgotten.swap(waiter->on_settled);
    FinishTelling(*waiter);
  }
  Release(waiter);
}

}  // namespace weir
