// PidController: a PID controller whose output says how strongly to brake, that is, to slow work down. A measurement
// above the setpoint raises the output.
//
//   output = kp·e + ∫ki·e dt + kd·dm/dt      e = measurement − setpoint
//
// P, the first term, is multiplied by `braking` above the setpoint and by `filling` below it. D, the third term, has a
// factor only while the measurement rises: `braking` if the measurement is above the setpoint. Below the setpoint this
// factor decreases to 1, which it reaches 0.2 below the setpoint, because a rise far below the setpoint is harmless.
//
// Differences from a textbook controller:
//  * While the output is at one of its bounds, the integral does not push it further; it moves only towards 0. So an
//    hour below the setpoint, with the output at its lower bound, leaves no correction in the integral, and the
//    controller brakes in the first update in which the measurement is above the setpoint.
//  * D is computed from the measurement after a low-pass filter, not from the error, so the output jumps neither at the
//    first measurement nor when the setpoint changes.
//  * The filter and the integral are exact for a measurement that stays constant during dt, so the results do not
//    depend on how often Update is called.
//  * SetGains and SetSetpoint cause no jump. SetGains changes the integral so that the output keeps its last value, as
//    far as the bounds of the integral allow. After SetSetpoint the setpoint in use approaches the new one gradually.
//  * Every function except the constructor accepts any double; it ignores values that are not finite, and gains outside
//    0..1e6.
//
// Not thread-safe; the caller locks.
#pragma once

#include "config/clock.h"

namespace weir {

struct PidGains {
  double kp = 0.5;
  double ki = 0.1;   // per second
  double kd = 0.05;  // seconds

  bool operator==(const PidGains&) const = default;
};

struct PidSettings {
  PidGains gains;
  double setpoint = 0.85;
  double braking = 1;  // factor on P above the setpoint, and on D while the measurement rises; above 0
  double filling = 1;  // factor on P below the setpoint; above 0

  // Weight of a new measurement in the low-pass filter, if Update is called once per nominal_tick; must be above 0 and
  // below 1. The time constant of the filter is computed from filter_alpha and nominal_tick.
  double filter_alpha = 0.2;
  Duration nominal_tick = std::chrono::milliseconds(100);

  // Bounds of the integral term and of the output. integral_min is at most 0, and integral_max at least 0.
  double integral_min = -0.5;
  double integral_max = 2.0;
  double output_min = 0.0;
  double output_max = 1.0;
};

struct PidState {
  double setpoint = 0;  // the setpoint in use, which approaches PidSettings::setpoint gradually
  double measurement = 0;
  double filtered = 0;  // the measurement after the low-pass filter
  double error = 0;     // measurement − setpoint
  double p = 0;         // p, i and d are the three terms; the output is their sum, clamped to its bounds
  double i = 0;
  double d = 0;
  double output = 0;
};

// Returns true if a controller accepts the gains: each is finite and within 0..1e6.
bool IsValid(const PidGains& gains);

class PidController {
 public:
  // The directions in which Update may change the integral. kFree: up and down. kHoldDown: only up, towards more
  // braking; for times when the work stays below the limit that the output sets.
  enum class Integral { kFree, kHoldDown };

  // Throws std::invalid_argument if a setting is out of its range, or if a lower bound is above the upper bound.
  explicit PidController(const PidSettings& settings);

  // Takes a measurement that was valid for the past `dt` and returns the new output, within its bounds. A `dt` below 0
  // counts as 0. If the measurement is not finite, changes nothing and returns the last output.
  double Update(double measurement, Duration dt, Integral integral = Integral::kFree);

  // Corrects the integral when `applied`, not this controller's output, took effect during the past `dt`, because
  // another loop or a bound was more restrictive (back-calculation). The integral approaches the value that would have
  // made the output equal to `applied`, with the time constant kp/ki (at once if kp is 0). Track never raises the
  // integral above 0, because braking by another loop is no reason for this one to brake. Does nothing if ki is 0.
  void Track(double applied, Duration dt);

  // Lets the integral decay towards 0 with the given time constant; for a loop whose output is not in use.
  void Relax(Duration dt, Duration time_constant);

  // Multiplies the integral by `factor`, because the unit of the output changed. Ignores a factor that is not finite or
  // is below 0.
  void ScaleIntegral(double factor);

  // Ignores gains for which IsValid is false.
  void SetGains(const PidGains& gains);
  // Sets PidSettings::filling from the next Update on. Ignores a value that is not finite or not above 0.
  void SetFilling(double filling);
  // Sets the setpoint. Before the first measurement the new setpoint applies at once. Later the setpoint in use
  // (GetState().setpoint) approaches it with a time constant of 2 s, because after a jump the integral would store a
  // correction that it could remove only slowly.
  void SetSetpoint(double setpoint);
  // Sets the upper bound of the output from the next Update on. Ignores a value that is not finite; a value below
  // output_min counts as output_min.
  void SetOutputMax(double output_max);
  // Forgets all measurements and the integral; the settings stay.
  void Reset();

  PidState GetState() const { return state_; }
  const PidSettings& settings() const { return settings_; }

 private:
  void Answer();
  void Integrate(double dt_s, Integral integral);
  double Bounded(double output) const;

  PidSettings settings_;
  double filter_time_s_;
  bool primed_ = false;  // true if there was a measurement since the last Reset
  PidState state_;
};

}  // namespace weir
