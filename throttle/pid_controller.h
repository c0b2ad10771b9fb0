// PidController: a PID controller for loops that brake. A positive output means to brake, and a measurement above the
// setpoint makes the output positive.
//
//   output = kp·e + ∫ki·e dt + kd·dm/dt      e = measurement − setpoint
//
// Above the setpoint the P term is multiplied by `braking`, and so is the D term while the measurement rises. Below the
// setpoint the factor on D falls to 1 within 0.2, because a rise far below the setpoint is no danger. The P term below
// the setpoint is multiplied by `filling`.
//
// Beyond the textbook:
//  * The integral stores nothing that the output could not use: it stops when the output reaches its bound, and from
//    there moves only towards 0. So an hour of idling below the setpoint leaves no stored correction in either
//    direction, and the controller brakes in the update in which the measurement crosses the setpoint.
//  * D acts on the measurement after a low-pass filter, so the output does not jump at the first measurement, nor when
//    the setpoint moves.
//  * Results do not depend on how often Update runs: filter and integral are exact for any dt.
//  * SetGains and SetSetpoint cause no jump: with new gains the output goes on from its last value, as far as the
//    integral's bounds allow; the setpoint in use glides to a new one.
//  * Every function but the constructor accepts any double: values that are not finite, and gains outside 0..1e6,
//    change nothing.
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
  double braking = 1;  // factor on P above the setpoint and on D of a rise; above 0
  double filling = 1;  // factor on P below the setpoint; above 0

  // Weight of a new measurement in the derivative's low-pass filter if Update runs once per nominal_tick; it sets the
  // time constant of the filter. Within (0, 1).
  double filter_alpha = 0.2;
  Duration nominal_tick = std::chrono::milliseconds(100);

  // Bounds of the integral's part of the output, with 0 between them, and of the output itself.
  double integral_min = -0.5;
  double integral_max = 2.0;
  double output_min = 0.0;
  double output_max = 1.0;
};

struct PidState {
  double setpoint = 0;  // the setpoint in use, which glides to that of the settings
  double measurement = 0;
  double filtered = 0;  // the measurement after the low-pass filter
  double error = 0;     // measurement − setpoint
  double p = 0;         // p, i and d are the terms; the output is their sum, kept within its bounds
  double i = 0;
  double d = 0;
  double output = 0;
};

// Returns true if a controller accepts the gains: each is finite and within 0..1e6.
bool IsValid(const PidGains& gains);

class PidController {
 public:
  // How the integral may move in an update. kFree: up and down. kHoldDown: only up, so that it brakes more or as
  // before, for a loop whose limit the work does not reach.
  enum class Integral { kFree, kHoldDown };

  // Throws std::invalid_argument if a setting is not finite or out of its range, or if a lower bound is above its upper
  // one.
  explicit PidController(const PidSettings& settings);

  // Takes a measurement that was valid for the past `dt` and returns the new output, within its bounds. A `dt` below 0
  // counts as 0. A measurement that is not finite changes nothing: the last output is returned again.
  double Update(double measurement, Duration dt, Integral integral = Integral::kFree);

  // Tells the controller that `applied`, not its output, acted in the past `dt`, because another loop or a bound was
  // more restrictive (back-calculation). The integral approaches the value that would have given the output `applied`,
  // with the time constant kp/ki. This never raises the integral above 0: if another loop braked, this one need not.
  // Does nothing if ki is 0.
  void Track(double applied, Duration dt);

  // Lets the integral decay to 0 with the given time constant, for a loop whose output is not used now.
  void Relax(Duration dt, Duration time_constant);

  // Multiplies the integral by `factor`, because the unit of the output changed. Ignores a factor that is not finite or
  // is below 0.
  void ScaleIntegral(double factor);

  // Ignores gains for which IsValid is false.
  void SetGains(const PidGains& gains);
  // Sets `filling` for the next update. Ignores a value that is not finite or not above 0.
  void SetFilling(double filling);
  // Sets the setpoint. Before the first measurement it applies at once; later the setpoint in use (GetState().setpoint)
  // glides to it within some seconds. If the one in use jumped, the integral would store the effect of the step, and
  // could undo it only at its slow pace.
  void SetSetpoint(double setpoint);
  // Sets the upper bound of the output for the next update. Ignores a value that is not finite; a value below
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
