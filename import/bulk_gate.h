// BulkGate: asks the throttle for permission for one write after the other, and waits however long it takes.
//
// Threads: Enter from one thread, Stop and Describe from any.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>

#include "import/settled.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

class BulkGate {
 public:
  // Without a limiter the gate is always open.
  BulkGate(AdaptiveLimiter* limiter, Party party, const Clock& clock)
      : limiter_(limiter), party_(party), clock_(clock) {}

  // Blocks until the write may be done; the caller keeps `permit` during the write. Returns false after Stop.
  bool Enter(uint64_t bytes, std::optional<Admission>* permit);
  // Waits for `pause`, but not beyond Stop. Returns false after Stop.
  bool Pause(Duration pause);
  void Stop();

  void RecordLatency(Duration latency);
  // Fills in the gate's figures: level, the signal that limits, delays, latency.
  void Describe(ImportConditions* conditions) const;

 private:
  bool Ask(uint64_t bytes, std::optional<Admission>* permit);
  bool WaitFor(Admission* admission);
  void BeginWait(TimePoint since);

  AdaptiveLimiter* const limiter_;
  const Party party_;
  const Clock& clock_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  bool settled_ = false;                  // the admission of WaitFor is settled
  std::optional<TimePoint> waits_since_;  // set while Enter is held back
  Duration delay_{};
  Duration latency_{};
  uint64_t throttled_ = 0;
  Duration throttled_time_{};
};

}  // namespace weir
