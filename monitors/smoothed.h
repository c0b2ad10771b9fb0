// Smoothed: an average over time in which the weight of older values falls exponentially. It does not depend on the
// length of the steps: for a constant value, n steps of dt/n give the same as one step of dt.
#pragma once

#include <cmath>

#include "config/clock.h"

namespace weir {

// Returns the weight of a new value after a step of `step_s` seconds, for an average whose weights fall to 1/e in
// `time_s` seconds.
inline double SmoothingWeight(double step_s, double time_s) { return -std::expm1(-step_s / time_s); }

class Smoothed {
 public:
  explicit Smoothed(Duration time) : time_s_(ToSeconds(time)) {}

  // Adds a value and returns the average. The average after the first value is that value. Ignores a value whose time
  // is not after that of the last one.
  double Update(TimePoint now, double value) {
    const double dt_s = ToSeconds(now - last_);
    if (!started_) {
      value_ = value;
      started_ = true;
    } else if (dt_s > 0) {
      value_ += (value - value_) * SmoothingWeight(dt_s, time_s_);
    } else {
      return value_;
    }
    last_ = now;
    return value_;
  }

  double value() const { return value_; }  // 0 before the first value

 private:
  double time_s_;
  double value_ = 0;
  TimePoint last_{};
  bool started_ = false;
};

}  // namespace weir
