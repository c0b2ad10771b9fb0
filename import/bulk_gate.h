// BulkGate: asks the limiter (throttle/adaptive_limiter.h) to permit each write of an import or a migration, and blocks
// until it does.
//
// Threads: one thread at a time calls Enter, Pause and RecordLatency; any thread may call Stop and Describe.
#pragma once

#include <optional>

#include "config/mutex.h"
#include "import/settled.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

class BulkGate {
 public:
  // Without a limiter (null) Enter permits every write at once, and does not set `*permit`. The limiter must outlive
  // the gate.
  BulkGate(AdaptiveLimiter* limiter, Party party, const Clock& clock)
      : limiter_(limiter), party_(party), clock_(clock) {}

  // Blocks until the limiter permits a write of `bytes` bytes, then sets `*permit` and returns true. After a refusal,
  // asks for the bytes in smaller parts, one after another. The caller must keep `*permit` until the write is done.
  // Returns false after Stop.
  bool Enter(uint64_t bytes, std::optional<Admission>* permit);
  // Waits for `pause`, or until Stop is called. Returns false after Stop.
  bool Pause(Duration pause);
  // Makes Enter and Pause return false, now and in all later calls.
  void Stop();

  // Records how long a write took, in this gate and in the limiter.
  void RecordLatency(Duration latency);
  // Sets the members of `*conditions` except `problem`. Does not set `level` without a limiter, and does not set
  // `limiting` if the last write did not wait.
  void Describe(ImportConditions* conditions) const;

 private:
  bool Ask(uint64_t bytes, std::optional<Admission>* permit);
  bool WaitFor(Admission* admission);
  void BeginWait(TimePoint since);

  AdaptiveLimiter* const limiter_;
  const Party party_;
  const Clock& clock_;

  mutable Mutex mutex_;
  Condition changed_;
  bool stopping_ WEIR_GUARDED_BY(mutex_) = false;
  // True if the limiter has decided about the admission WaitFor waits for.
  bool settled_ WEIR_GUARDED_BY(mutex_) = false;
  // When Enter began to wait for the limiter; nullopt: it does not wait.
  std::optional<TimePoint> waits_since_ WEIR_GUARDED_BY(mutex_);
  Duration delay_ WEIR_GUARDED_BY(mutex_) = {};           // how long the last Enter waited
  Duration latency_ WEIR_GUARDED_BY(mutex_) = {};         // how long the last write took
  uint64_t throttled_ WEIR_GUARDED_BY(mutex_) = 0;        // number of Enter calls that had to wait
  Duration throttled_time_ WEIR_GUARDED_BY(mutex_) = {};  // sum of their waits
};

}  // namespace weir
