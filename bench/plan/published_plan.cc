#include "bench/plan/published_plan.h"

#include <algorithm>

namespace weir {
namespace {

constexpr double kShortestStep = 0.001;

}  // namespace

Duration PublishedPlan::Delay(TimePoint now, double process_variable) {
  if (!initialized_) {
    initialized_ = true;
    last_update_ = now;
    return Duration::zero();
  }
  double dt_s = ToSeconds(now - last_update_);
  if (dt_s <= 0) dt_s = kShortestStep;
  last_update_ = now;

  const double error = process_variable - settings_.setpoint;
  integral_ = std::clamp(integral_ + error * dt_s, settings_.integral_min, settings_.integral_max);
  const double filtered = settings_.filter_alpha * error + (1 - settings_.filter_alpha) * filtered_error_;
  p_ = settings_.gains.kp * error;
  d_ = settings_.gains.kd * (filtered - filtered_error_) / dt_s;
  filtered_error_ = filtered;
  delay_ = FromSeconds(std::clamp(p_ + i() + d_, 0.0, ToSeconds(settings_.max_delay)));
  return delay_;
}

}  // namespace weir
