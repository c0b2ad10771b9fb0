// A PID controller for loops that brake: the output is positive when the measurement stands above the setpoint.
//
//   output = kp·e + ∫ki·e dt + kd·dm/dt      e = measurement − setpoint
//
// P above the setpoint, and D while the measurement rises, are `braking` times as strong; D comes to that strength over
// the last 0.2 below the setpoint, for a rise far below it is no danger. P below the setpoint is `filling`
// times as strong.
//
// What it promises beyond the textbook:
//  * The integral stores nothing that the output could not use: it stops where the output meets its bound, and only on
//    its way back to 0 may it go on. So an hour of idling below the setpoint leaves neither debt nor brake, and the
//    brake answers in the update that crosses the setpoint.
//  * D acts on the measurement, behind a low-pass: no kick on the first sample, nor when the setpoint moves.
//  * Results do not depend on how often Update runs: filter and integral are exact for any dt.
//  * SetGains and SetSetpoint are bumpless: with new gains the output goes on from where it was, as far as the
//    integral's bounds allow; to a new setpoint the controller glides.
//  * Any double may go in: values that are not finite, and gains outside 0..1e6, change nothing.
//
// Not thread-safe; the owner of the loop owns the lock.
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
  double braking = 1;
  double filling = 1;

  // Weight of a new measurement in the derivative's low-pass, if Update ran once a nominal_tick. Kept as the time
  // constant that gives this weight. Within (0, 1).
  double filter_alpha = 0.2;
  Duration nominal_tick = std::chrono::milliseconds(100);

  // Outer bounds of the integral's part of the output, with 0 between them, and of the output.
  double integral_min = -0.5;
  double integral_max = 2.0;
  double output_min = 0.0;
  double output_max = 1.0;
};

struct PidState {
  double setpoint = 0;
  double measurement = 0;
  double filtered = 0;  // the measurement behind the low-pass
  double error = 0;
  double p = 0;  // the terms, as they stand in the output
  double i = 0;
  double d = 0;
  double output = 0;
};

// Returns true if a controller takes the gains: each is finite and within 0..1e6.
bool IsValid(const PidGains& gains);

class PidController {
 public:
  // How the integral may move in an update. kHoldDown: it may brake more but not less, for a loop whose limit no work
  // presses against.
  enum class Integral { kFree, kHoldDown };

  explicit PidController(const PidSettings& settings);

  // Takes a measurement that was valid for the past dt and returns the output within its bounds. dt ≤ 0 counts as 0.
  double Update(double measurement, Duration dt, Integral integral = Integral::kFree);

  // Back-calculation: the plant was in truth driven by `applied`, because another loop or a bound was more restrictive.
  // The integral approaches the value that would have given it, with the integral time kp/ki. But this never raises it
  // above 0: if another loop braked, this one need not.
  void Track(double applied, Duration dt);

  // Lets the integral decay with the given time constant, for a loop that is out of use.
  void Relax(Duration dt, Duration time_constant);

  // Adapts the integral to an output whose unit changed. Ignores a factor that is not finite or is below 0.
  void ScaleIntegral(double factor);

  void SetGains(const PidGains& gains);
  // Takes effect with the next update. Ignores a value that is not finite or not above 0.
  void SetFilling(double filling);
  // Before the first measurement it takes effect at once; later the controller glides there within some seconds
  // (GetState().setpoint). The integral could not take the step: the loop would have to work off, at the integral's
  // pace, what it stored to balance the step.
  void SetSetpoint(double setpoint);
  // Takes effect with the next update. Ignores a value that is not finite; one below output_min counts as output_min.
  void SetOutputMax(double output_max);
  void Reset();

  PidState GetState() const { return state_; }
  const PidSettings& settings() const { return settings_; }

 private:
  void Answer();
  void Integrate(double dt_s, Integral integral);
  double Bounded(double output) const;

  PidSettings settings_;
  double filter_time_s_;
  bool primed_ = false;  // the filter has seen a measurement
  PidState state_;
};

}  // namespace weir
