// How fast an engine drains while it has something to drain.
//
// The rate is in bytes per *busy* second, never per second of the wall clock: when a throttle lowers the inflow, the
// engine drains less because there is less to drain, and a limit that followed that figure would spiral down (seen in a
// prototype: to 46 %).
//
// Work is reported in gulps (a compaction reports when it ends), so bytes and seconds are both forgotten exponentially,
// over at least two gulps. Between gulps the rate stands still, unless the next one is overdue.
#pragma once

#include "config/clock.h"

namespace weir {

class DrainMeter {
 public:
  // Assumes this rate until the first gulp. Then it counts like two busy seconds of measurement and is forgotten as
  // fast, for it may be wrong by a factor of a hundred.
  explicit DrainMeter(double prior_bytes_per_second) : prior_(prior_bytes_per_second) {}

  // Has no effect after the first gulp.
  void SetPrior(double bytes_per_second) {
    if (!measured_) prior_ = bytes_per_second;
  }

  // Adds a stretch of time in which there was work to do.
  void Busy(Duration stretch);
  // Adds a gulp: the bytes of work that ended since the last call. 0 is ignored.
  void Drained(double bytes);

  // From now on the engine works `factor` times as fast: past measurements count as if it always had.
  void Scale(double factor);

  double BytesPerSecond() const;
  bool measured() const { return measured_; }

 private:
  double ForgetSeconds() const;

  static constexpr double kPriorSeconds = 2;

  double prior_;
  double prior_s_ = kPriorSeconds;
  double bytes_ = 0;  // decaying sums up to the last gulp
  double seconds_ = 0;
  double pending_s_ = 0;   // busy since the last gulp
  double gulp_bytes_ = 0;  // size of a usual gulp
  double gulp_s_ = 0;
  bool measured_ = false;
};

}  // namespace weir
