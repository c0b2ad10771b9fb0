#include "throttle/pid_controller.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "monitors/smoothed.h"

namespace weir {
namespace {

// A larger measurement counts as this, which keeps every product finite.
constexpr double kMeasurementBound = 1e9;

// Time constant with which the setpoint in use approaches a new one. In a tick of 100 ms the output changes by a
// twentieth of the change that a jump would cause.
constexpr double kGlideSeconds = 2;

// The range below the setpoint over which the factor on D grows from 1 to `braking` while the measurement rises.
constexpr double kBrakingMargin = 0.2;

bool IsGain(double g) { return std::isfinite(g) && g >= 0 && g <= 1e6; }

bool IsStrength(double s) { return std::isfinite(s) && s > 0; }

double BoundedMeasurement(double m) { return std::clamp(m, -kMeasurementBound, kMeasurementBound); }

}  // namespace

bool IsValid(const PidGains& g) { return IsGain(g.kp) && IsGain(g.ki) && IsGain(g.kd); }

PidController::PidController(const PidSettings& settings) : settings_(settings) {
  const bool valid = IsValid(settings.gains) && std::isfinite(settings.setpoint) && settings.filter_alpha > 0 &&
                     settings.filter_alpha < 1 && settings.nominal_tick > Duration::zero() &&
                     IsStrength(settings.braking) && IsStrength(settings.filling) && settings.integral_min <= 0 &&
                     settings.integral_max >= 0 && settings.output_min <= settings.output_max;
  if (!valid)
    throw std::invalid_argument("PidController: gains must be 0..1e6, filter_alpha within (0, 1), bounds ordered");
  settings_.setpoint = BoundedMeasurement(settings.setpoint);
  filter_time_s_ = -ToSeconds(settings.nominal_tick) / std::log1p(-settings.filter_alpha);
  Reset();
}

double PidController::Update(double measurement, Duration dt, Integral integral) {
  if (!std::isfinite(measurement)) return state_.output;
  measurement = BoundedMeasurement(measurement);
  const double dt_s = std::max(0.0, ToSeconds(dt));

  if (!primed_) state_.filtered = measurement;
  primed_ = true;
  state_.setpoint += (settings_.setpoint - state_.setpoint) * SmoothingWeight(dt_s, kGlideSeconds);
  state_.filtered += (measurement - state_.filtered) * SmoothingWeight(dt_s, filter_time_s_);

  state_.measurement = measurement;
  state_.error = measurement - state_.setpoint;
  Answer();
  Integrate(dt_s, integral);
  state_.output = Bounded(state_.p + state_.i + state_.d);
  return state_.output;
}

void PidController::Answer() {
  state_.p = settings_.gains.kp * state_.error;
  // Uses the slope of the low-pass filter, not the difference of two updates: the slope does not depend on dt.
  state_.d = settings_.gains.kd * (state_.measurement - state_.filtered) / filter_time_s_;
  state_.p *= state_.p > 0 ? settings_.braking : settings_.filling;
  const double nearness = std::clamp(1 + state_.error / kBrakingMargin, 0.0, 1.0);
  if (state_.d > 0) state_.d *= 1 + (settings_.braking - 1) * nearness;
}

void PidController::Integrate(double dt_s, Integral integral) {
  const double old = state_.i;
  const double rest = state_.p + state_.d;
  double next =
      std::clamp(old + settings_.gains.ki * state_.error * dt_s, settings_.integral_min, settings_.integral_max);
  // While the output is at its bound, the integral may not push further, but it may move towards 0.
  if (next > old) next = std::min(next, std::max({old, settings_.output_max - rest, 0.0}));
  if (next < old) next = std::max(next, std::min({old, settings_.output_min - rest, 0.0}));
  if (integral == Integral::kHoldDown) next = std::max(next, old);
  state_.i = next;
}

void PidController::Track(double applied, Duration dt) {
  const PidGains& g = settings_.gains;
  if (!std::isfinite(applied) || dt <= Duration::zero() || g.ki <= 0) return;
  const double weight = g.kp > 0 ? SmoothingWeight(ToSeconds(dt) * g.ki, g.kp) : 1.0;
  const double unbounded = state_.p + state_.i + state_.d;
  const double next = std::min(state_.i + (applied - unbounded) * weight, std::max(state_.i, 0.0));
  state_.i = std::clamp(next, settings_.integral_min, settings_.integral_max);
  state_.output = Bounded(state_.p + state_.i + state_.d);
}

void PidController::Relax(Duration dt, Duration time_constant) {
  if (dt <= Duration::zero() || time_constant <= Duration::zero()) return;
  state_.i *= std::exp(-ToSeconds(dt) / ToSeconds(time_constant));
  state_.output = Bounded(state_.p + state_.i + state_.d);
}

void PidController::ScaleIntegral(double factor) {
  if (!std::isfinite(factor) || factor < 0) return;
  state_.i = std::clamp(state_.i * factor, settings_.integral_min, settings_.integral_max);
  state_.output = Bounded(state_.p + state_.i + state_.d);
}

void PidController::SetGains(const PidGains& gains) {
  if (!IsValid(gains) || gains == settings_.gains) return;
  const double before = state_.p + state_.i + state_.d;
  settings_.gains = gains;
  if (!primed_) return;
  Answer();
  // At a bound of the output many values of the integral give the same output; take the one nearest to the present
  // value.
  const double rest = state_.p + state_.d;
  double next = Bounded(before) - rest;
  if (before <= settings_.output_min) next = std::min(state_.i, next);
  if (before >= settings_.output_max) next = std::max(state_.i, next);
  state_.i = std::clamp(next, settings_.integral_min, settings_.integral_max);
  state_.output = Bounded(rest + state_.i);
}

void PidController::SetFilling(double filling) {
  if (IsStrength(filling)) settings_.filling = filling;
}

void PidController::SetSetpoint(double setpoint) {
  if (!std::isfinite(setpoint)) return;
  settings_.setpoint = BoundedMeasurement(setpoint);
  if (!primed_) state_.setpoint = settings_.setpoint;
}

void PidController::SetOutputMax(double output_max) {
  if (std::isfinite(output_max)) settings_.output_max = std::max(output_max, settings_.output_min);
}

void PidController::Reset() {
  primed_ = false;
  state_ = PidState{};
  state_.setpoint = settings_.setpoint;
  state_.output = Bounded(0);
}

double PidController::Bounded(double output) const {
  return std::clamp(output, settings_.output_min, settings_.output_max);
}

}  // namespace weir
