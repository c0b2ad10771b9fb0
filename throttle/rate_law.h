// The law: from what the engine feels to the bytes per second that a class of work may bring.
//
// The plant is an integrator: the level rises with what comes in and falls with what the engine drains. So the law
// starts from the drain and corrects it:
//
//   limit = drain − gain · u        u = the controller's output for this signal, 0 at the setpoint in a settled state
//
// Each signal has a loop, tuned from its own geometry (dead time θ, bytes per unit of level) by the rules for an
// integrator with dead time (SIMC with τ = θ):
//
//   gain = bytes_per_level / 2θ bytes/s per unit of level, integral time 8θ
//
// and up to six times that gain where it brakes, and where it fills room whose filling shows at once. The integral has
// the same gain everywhere: it is what the drain was misjudged by, and with six times what it learned below the
// setpoint the brake would begin only far above it.
//
// The lowest limit wins and is named. The other loops follow it, so that a loop that takes over starts from there, but
// none learns to brake from another: memtables that fill and are flushed braked at half their setpoint for what L0 had
// taught them (RocksDB's default sizes, bulk work 39 % less than without weir).
// A signal is judged without what waiting work adds to it (Signal::waiting), and at no setpoint below its own least.
//
// A loop whose drain nobody tells takes what came in for it. Without P nothing is added to that below the setpoint, so
// the limit could only sink; then such a loop makes none there. With all gains 0 the law is off.
//
// While demand stays below 0.7 of the limit nobody presses against it and the integral may not raise it further: there
// is nothing to learn from a limit that does not bind. A signal that comes, or comes back, starts anew.
//
// Not thread-safe.
#pragma once

#include <list>
#include <string_view>
#include <vector>

#include "monitors/load_sample.h"
#include "throttle/limiter_settings.h"
#include "throttle/pid_controller.h"

namespace weir {

struct RateDecision {
  bool open = true;             // nothing needs to be limited
  double bytes_per_second = 0;  // the limit, which does not bind while open
  double drain_bytes_per_second = 0;
  std::string_view reason = "";  // the signal that limits
  double level = 0;              // and its level, as it was judged
  double setpoint = 0;           // that holds for it
};

// What the law is told about the work since the last update.
struct Demand {
  double inflow_bytes_per_second = 0;  // all that was admitted: what the engine received
  double bytes_per_second = 0;         // the part that this limit is there for
  bool waited = false;                 // somebody had to wait for it
};

class RateLaw {
 public:
  RateLaw(const ControlSettings& settings, ProcessVariable process_variable, Duration tick);

  RateDecision Update(const LoadSample& sample, const Demand& demand, Duration dt);

  // The limit that lets the level sink slowly, as far as known: the correction of an error is for the moment, and held
  // without looking it fills or empties the engine. Of the integral only what brakes is believed. Where nobody told the
  // drain it is no lower than what was let in lately, and the last limit where nothing is known. 0 where nothing
  // limits.
  double HeldLimit(double lately_bytes_per_second) const;
  // Below it no limit goes.
  double LowestLimit() const;

  // Of the loop that limits.
  PidState State() const;
  double setpoint() const { return settings_.setpoint; }
  const PidGains& gains() const { return settings_.gains; }

  // Gains that no controller takes change nothing.
  void SetGains(const PidGains& gains) {
    if (IsValid(gains)) settings_.gains = gains;
  }
  // Within 0..1; the loops glide there.
  void SetSetpoint(double setpoint) { settings_.setpoint = setpoint; }
  void Reset();

 private:
  struct Loop {
    std::string_view name;
    PidController pid;
    double level = 0;
    double setpoint = 0;
    double gain = 0;  // bytes/s per unit
    Duration integral_time{};
    double drain = 0;
    double observed_drain = 0;  // by balance, for a signal whose drain nobody measures
    bool is_drain_told = false;
    double limit = 0;  // infinite: it makes none
    bool present = false;
    bool was_present = false;  // in the update before
  };

  Loop& LoopOf(std::string_view name);
  void Measure(Loop& loop, const Signal& signal, const Demand& demand, Duration dt);
  std::vector<Signal> Acting(const LoadSample& sample) const;
  double LimitOf(const Loop& loop, double output) const;
  RateDecision Decide(bool may_open);

  ControlSettings settings_;
  const ProcessVariable process_variable_;
  const Duration tick_;
  std::list<Loop> loops_;
  Loop* selected_ = nullptr;
};

}  // namespace weir
