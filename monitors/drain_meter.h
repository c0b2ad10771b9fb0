// DrainMeter: measures how fast an engine works off its backlog (drains) while it has one.
//
// The rate is in bytes per *busy* second, never per second of the wall clock. When a throttle lowers the inflow, the
// engine drains less because there is less to drain; a limit that followed the drain per second of the wall clock would
// spiral down (in a prototype it fell to 46 %).
//
// The engine reports its work in large amounts ("gulps"), because a compaction reports only when it ends. So the meter
// takes averages over at least two gulps, in which older bytes and seconds have exponentially less weight. Between
// gulps the rate stands still, and falls if the next gulp is overdue.
//
// Not thread-safe.
#pragma once

#include "config/clock.h"

namespace weir {

class DrainMeter {
 public:
  // Assumes the rate `prior_bytes_per_second` until the first gulp. After that the assumption has the weight of two
  // busy seconds of measurement, which soon fades, because the assumption may be wrong by a factor of a hundred.
  explicit DrainMeter(double prior_bytes_per_second) : prior_(prior_bytes_per_second) {}

  // Changes the assumed rate. Has no effect after the first gulp.
  void SetPrior(double bytes_per_second) {
    if (!measured_) prior_ = bytes_per_second;
  }

  // Adds a stretch of time in which there was work to do.
  void Busy(Duration stretch);
  // Adds a gulp: the bytes of work that ended since the last call. Ignores 0 and less.
  void Drained(double bytes);

  // Notes that from now on the engine works `factor` times as fast, and corrects the past measurements accordingly.
  // Ignores a factor that is not above 0 or not finite.
  void Scale(double factor);

  // Returns the rate, in bytes per busy second.
  double BytesPerSecond() const;
  bool measured() const { return measured_; }  // true after the first gulp

 private:
  double ForgetSeconds() const;

  static constexpr double kPriorSeconds = 2;

  double prior_;
  double prior_s_ = kPriorSeconds;
  double bytes_ = 0;  // decaying sums of bytes and busy seconds, up to the last gulp
  double seconds_ = 0;
  double pending_s_ = 0;   // busy seconds since the last gulp
  double gulp_bytes_ = 0;  // bytes of a usual gulp
  double gulp_s_ = 0;      // busy seconds of a usual gulp
  bool measured_ = false;
};

}  // namespace weir
