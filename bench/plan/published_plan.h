// PublishedPlan: the throttle that ORLY published as a plan in December 2025, exactly as published. It counts the
// operations of all callers together. After every Nth operation a PID controller turns 0.7 memory + 0.3 load into a
// delay in seconds, for which the caller of that operation sleeps. The integral is clamped, but is still updated while
// the output is saturated. The time between updates is the time between two Nth operations. The derivative is that of
// the filtered error; each update filters the error once.
//
// The caller passes the time in. Not thread-safe.
#pragma once

#include <cstdint>

#include "config/clock.h"
#include "throttle/pid_controller.h"

namespace weir {

struct PlanSettings {
  PidGains gains{.kp = 0.5, .ki = 0.1, .kd = 0.05};
  double setpoint = 0.85;
  double filter_alpha = 0.2;
  double integral_min = -0.5;
  double integral_max = 2.0;
  Duration max_delay = std::chrono::seconds(1);
  uint64_t min_batch = 10;  // N
};

// The plan's three controllers, with its numbers.
inline constexpr PlanSettings kPlanWrites{};
inline constexpr PlanSettings kPlanImport{
    .gains = {.kp = 0.5, .ki = 0.15, .kd = 0.05}, .setpoint = 0.70, .min_batch = 5};
inline constexpr PlanSettings kPlanReads{.gains = {.kp = 0.3, .ki = 0.05, .kd = 0.02},
                                         .filter_alpha = 0.3,
                                         .integral_min = -0.2,
                                         .integral_max = 1.0,
                                         .max_delay = std::chrono::milliseconds(200),
                                         .min_batch = 5};

class PublishedPlan {
 public:
  explicit PublishedPlan(const PlanSettings& settings) : settings_(settings) {}

  static double ProcessVariable(double memory_pressure, double load_level) {
    return 0.7 * memory_pressure + 0.3 * load_level;
  }

  // Counts an operation that has ended. Returns true if it is an Nth one; its caller must then sleep for the time that
  // Delay returns.
  bool CountOperation() { return ++operations_ % settings_.min_batch == 0; }
  Duration Delay(TimePoint now, double process_variable);

  double p() const { return p_; }
  double i() const { return settings_.gains.ki * integral_; }
  double d() const { return d_; }
  Duration delay() const { return delay_; }

 private:
  const PlanSettings settings_;
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
