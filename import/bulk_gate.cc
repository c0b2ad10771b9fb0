#include "import/bulk_gate.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

// A refusal says when to ask again. The gate never pauses longer than a second, because the load may fall sooner.
constexpr Duration kShortestPause = std::chrono::milliseconds(10);
constexpr Duration kLongestPause = std::chrono::seconds(1);

// The gate never admits a write that its limit does not admit within the longest wait of bulk work, so after each
// refusal BulkGate asks for half as much, but not less than this: what the lowest limit admits in 16 s.
constexpr uint64_t kLeastPart = 256 << 10;

}  // namespace

bool BulkGate::Enter(uint64_t bytes, std::optional<Admission>* permit) {
  if (limiter_ == nullptr) return Pause({});
  const TimePoint since = clock_.Now();
  const bool entered = Ask(bytes, permit);
  const MutexLock lock(mutex_);
  delay_ = {};
  if (waits_since_) {
    delay_ = std::max(Duration::zero(), clock_.Now() - since);
    throttled_time_ += delay_;
    waits_since_.reset();
  }
  return entered;
}

bool BulkGate::Ask(uint64_t bytes, std::optional<Admission>* permit) {
  const TimePoint since = clock_.Now();
  uint64_t part = bytes;
  while (Pause({})) {
    Admission admission = limiter_->Admit(Operation::kWrite, Cost{part}, party_);
    if (!admission.admitted()) BeginWait(since);
    if (admission.waiting() && !WaitFor(&admission)) return false;
    if (admission.admitted()) {
      permit->emplace(std::move(admission));
      bytes -= part;
      if (bytes == 0) return true;
      part = std::min(part, bytes);
      continue;
    }
    part = std::max(part / 2, std::min(part, kLeastPart));
    if (!Pause(std::clamp(admission.retry_after(), kShortestPause, kLongestPause))) return false;
  }
  return false;
}

// The limiter calls the callback while it holds its own lock. So no caller may hold mutex_ while it calls the limiter.
bool BulkGate::WaitFor(Admission* admission) {
  {
    const MutexLock lock(mutex_);
    settled_ = false;
  }
  admission->OnSettled([this] {
    const MutexLock lock(mutex_);
    settled_ = true;
    changed_.notify_all();
  });
  {
    MutexLock lock(mutex_);
    changed_.wait(lock, [this]() WEIR_REQUIRES(mutex_) { return settled_ || stopping_; });
    if (stopping_) return false;
  }
  admission->Poll();
  return true;
}

void BulkGate::BeginWait(TimePoint since) {
  const MutexLock lock(mutex_);
  if (waits_since_) return;
  waits_since_ = since;
  ++throttled_;
}

bool BulkGate::Pause(Duration pause) {
  MutexLock lock(mutex_);
  if (pause > Duration::zero()) changed_.wait_for(lock, pause, [this]() WEIR_REQUIRES(mutex_) { return stopping_; });
  return !stopping_;
}

void BulkGate::Stop() {
  const MutexLock lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
}

void BulkGate::RecordLatency(Duration latency) {
  if (limiter_ != nullptr) limiter_->RecordLatency(Operation::kWrite, latency);
  const MutexLock lock(mutex_);
  latency_ = latency;
}

void BulkGate::Describe(ImportConditions* conditions) const {
  std::string_view reason;
  if (limiter_ != nullptr) {
    conditions->level = limiter_->View()[party_.work_class].level;
    reason = limiter_->Reason(Operation::kWrite, party_.work_class);
  }
  const MutexLock lock(mutex_);
  // The limiter names its highest signal as the reason even if that signal makes no write wait.
  if (waits_since_ || delay_ > Duration::zero()) conditions->limiting = reason;
  conditions->delay = delay_;
  conditions->latency = latency_;
  conditions->throttled = throttled_;
  conditions->throttled_time = throttled_time_;
  if (waits_since_) conditions->throttled_time += std::max(Duration::zero(), clock_.Now() - *waits_since_);
}

}  // namespace weir
