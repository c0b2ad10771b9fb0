// DrainMeter: measures how fast an engine drains (works off) its backlog, in bytes per second, while there is a
// backlog.
//
// Only busy seconds count, in which the engine has a backlog; the other seconds are left out. When a throttle lowers
// the inflow, the engine drains less in total, because there is less to drain. If this lowered the measured rate, the
// throttle would lower its limit further and further, as it did in a prototype.
//
// The engine reports drained bytes in large amounts ("gulps"), because a compaction reports its bytes only when it
// ends. So the meter takes an average over at least 8 busy seconds and at least the time of two usual gulps. In this
// average the weight of older bytes and seconds decreases exponentially. Between two gulps the rate is constant, but it
// falls if the next gulp is overdue.
//
// Not thread-safe.
#pragma once

#include "config/clock.h"

namespace weir {

class DrainMeter {
 public:
  // Until the first gulp, the rate is the assumed one, `prior_bytes_per_second`. From the first gulp on, the assumed
  // rate is part of the average. Its weight is that of two measured busy seconds at first, and decreases with a time
  // constant of two busy seconds, because the assumption may be wrong by a factor of a hundred.
  explicit DrainMeter(double prior_bytes_per_second) : prior_(prior_bytes_per_second) {}

  // Changes the assumed rate. Has no effect after the first gulp.
  void SetPrior(double bytes_per_second) {
    if (!measured_) prior_ = bytes_per_second;
  }

  // Adds `stretch` to the busy time.
  void Busy(Duration stretch);
  // Leaves out the busy time since the last gulp, and the next gulp, because it is not known when that one began.
  void SkipGulp() {
    pending_s_ = 0;
    skips_ = true;
  }
  // Adds a gulp of `bytes` bytes, which the engine has drained since the last call. Ignores values that are not above
  // 0.
  void Drained(double bytes);

  // Multiplies the rate by `factor`, because the engine now drains `factor` times as fast as when it was measured.
  // Ignores a factor that is not above 0 or not finite.
  void Scale(double factor);

  // Returns the rate in bytes per busy second.
  double BytesPerSecond() const;
  bool measured() const { return measured_; }  // true after the first gulp

 private:
  double ForgetSeconds() const;

  static constexpr double kPriorSeconds = 2;

  double prior_;
  double prior_s_ = kPriorSeconds;
  double bytes_ = 0;  // sums of bytes and busy seconds up to the last gulp, with decreasing weights
  double seconds_ = 0;
  double pending_s_ = 0;   // busy seconds after the last gulp
  double gulp_bytes_ = 0;  // bytes of a usual gulp
  double gulp_s_ = 0;      // busy seconds of a usual gulp
  bool measured_ = false;
  bool skips_ = false;  // the next gulp does not count
};

}  // namespace weir
