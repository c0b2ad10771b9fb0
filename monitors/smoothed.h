// An average by e-folding time, exact for any step: n steps of dt/n equal one of dt.
#pragma once

#include <cmath>

#include "config/clock.h"

namespace weir {

// The share of the way to a new value that such an average goes in a step.
inline double SmoothingWeight(double step_s, double time_s) { return -std::expm1(-step_s / time_s); }

class Smoothed {
 public:
  explicit Smoothed(Duration time) : time_s_(ToSeconds(time)) {}

  // The first value counts whole: there is nothing before it.
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

  double value() const { return value_; }

 private:
  double time_s_;
  double value_ = 0;
  TimePoint last_{};
  bool started_ = false;
};

}  // namespace weir
