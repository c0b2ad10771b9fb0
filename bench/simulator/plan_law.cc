#include "bench/simulator/plan_law.h"

#include <algorithm>

namespace weir {
namespace {

// The plan's bounds of the integral; those of the output are 0 and the longest delay.
constexpr double kIntegralMin = -0.5;
constexpr double kIntegralMax = 2.0;
constexpr double kShortestStep = 0.001;

}  // namespace

// The plan knows one limiter for all writes, tuned for imports where bulk work is what overloads.
PlanLaw::PlanLaw(const LawContext& context)
    : monitor_(context.monitor), clock_(context.clock), settings_(context.settings.bulk) {}

Duration PlanLaw::AfterWrite(const WriteRequest&) {
  if (++operations_ % settings_.min_batch != 0) return Duration::zero();
  delay_s_ = Update(0.7 * monitor_.MemoryPressure() + 0.3 * monitor_.LoadLevel());
  return FromSeconds(delay_s_);
}

double PlanLaw::Update(double process_variable) {
  const TimePoint now = clock_.Now();
  if (!initialized_) {
    initialized_ = true;
    last_update_ = now;
    return 0;
  }
  double dt_s = ToSeconds(now - last_update_);
  if (dt_s <= 0) dt_s = kShortestStep;
  last_update_ = now;

  const double error = process_variable - settings_.setpoint;
  integral_ = std::clamp(integral_ + error * dt_s, kIntegralMin, kIntegralMax);
  const double filtered = settings_.filter_alpha * error + (1 - settings_.filter_alpha) * filtered_error_;
  p_ = settings_.gains.kp * error;
  d_ = settings_.gains.kd * (filtered - filtered_error_) / dt_s;
  filtered_error_ = filtered;
  return std::clamp(p_ + settings_.gains.ki * integral_ + d_, 0.0, 1.0);
}

LawView PlanLaw::View() const {
  return {.p = p_, .i = settings_.gains.ki * integral_, .d = d_, .reason = delay_s_ > 0 ? "delay" : ""};
}

}  // namespace weir
