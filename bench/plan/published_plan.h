// The published plan (ORLY, December 2025), as it is written: after every Nth operation of all callers together a PID
// turns 0.7 memory + 0.3 load into a delay in seconds, which the caller of that one operation sleeps. The integral is
// clamped and knows nothing of a saturated output; the time between updates is that between Nth operations; the
// derivative is taken of an error that is filtered per update.
//
// Time is passed in. Not thread-safe.
#pragma once

#include <cstdint>

#include "config/clock.h"
#include "throttle/limiter_settings.h"

namespace weir {

class PublishedPlan {
 public:
  // Of the settings, the gains, the setpoint, the filter and N (min_batch) count.
  explicit PublishedPlan(const ControlSettings& settings) : settings_(settings) {}

  static double ProcessVariable(double memory_pressure, double load_level) {
    return 0.7 * memory_pressure + 0.3 * load_level;
  }

  // An operation has ended. True: it is the Nth, and Delay decides how long its caller sleeps.
  bool CountOperation() { return ++operations_ % settings_.min_batch == 0; }
  Duration Delay(TimePoint now, double process_variable);

  double p() const { return p_; }
  double i() const { return settings_.gains.ki * integral_; }
  double d() const { return d_; }
  Duration delay() const { return delay_; }

 private:
  const ControlSettings settings_;
  uint64_t operations_ = 0;
  double integral_ = 0;
  double filtered_error_ = 0;
  TimePoint last_update_{};
  bool initialized_ = false;
  double p_ = 0;
  double d_ = 0;
  Duration delay_{};
};

}  // namespace weir
