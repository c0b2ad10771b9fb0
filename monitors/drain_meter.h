// How fast an engine drains while it has something to drain.
//
// Bytes per *busy* second, never per second of the wall clock: when a throttle lowers the inflow, the engine drains
// less because there is less to drain, and a limit that followed that figure would spiral down (seen in a prototype: to
// 46 %).
//
// Work arrives here in gulps (a compaction reports when it ends), so both sides are forgotten exponentially over at
// least two gulps, and the rate stands still between gulps, unless the next one is overdue.
#pragma once

#include "config/clock.h"

namespace weir {

class DrainMeter {
 public:
  // The rate assumed until the first gulp. It then counts like two busy seconds of measurement, and is forgotten as
  // fast: it may be wrong by a factor of a hundred.
  explicit DrainMeter(double prior_bytes_per_second) : prior_(prior_bytes_per_second) {}

  // No effect after the first gulp.
  void SetPrior(double bytes_per_second) {
    if (!measured_) prior_ = bytes_per_second;
  }

  // Another stretch of time in which there was work to do.
  void Busy(Duration stretch);
  // What was found to be done since the last call; 0 is not a gulp.
  void Drained(double bytes);

  // The engine works that many times as fast from now on: what was measured counts as if it always had.
  void Scale(double factor);

  double BytesPerSecond() const;
  bool measured() const { return measured_; }

 private:
  double ForgetSeconds() const;

  static constexpr double kPriorSeconds = 2;

  double prior_;
  double prior_s_ = kPriorSeconds;
  double bytes_ = 0;  // forgotten sums, up to the last gulp
  double seconds_ = 0;
  double pending_s_ = 0;   // busy since the last gulp
  double gulp_bytes_ = 0;  // of a usual gulp
  double gulp_s_ = 0;
  bool measured_ = false;
};

}  // namespace weir
