// RateLaw: turns what the engine feels into the bytes per second that a class of work may bring.
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
// and up to six times that gain while it brakes, and while it fills room whose filling shows at once. The integral has
// the same gain everywhere: it is the amount by which the drain was misjudged. With six times what it learned below the
// setpoint, the brake would begin only far above it.
//
// The lowest limit wins and is named. The other loops follow it, so that a loop that takes over starts from there, but
// none learns to brake from another: memtables that fill and are flushed braked at half their setpoint because of what
// L0 had taught them (RocksDB's default sizes, bulk work 39 % less than without weir).
// A signal is judged without what waiting work adds to it (Signal::waiting), and at no setpoint below its own least.
//
// If a signal does not report its drain, its loop takes for it what came in, less what the level rose by. Without P
// nothing is added to that below the setpoint, so the limit could only sink; such a loop then makes no limit there.
// With all gains 0 the law is off.
//
// While nothing waits and demand stays below 0.7 of the limit, the work does not press against it, and the integral may
// not raise it further: a limit that does not bind teaches nothing. A signal that comes, or comes back, starts anew.
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
  bool open = true;             // no limit is needed
  double bytes_per_second = 0;  // the limit, which does not bind while open
  double drain_bytes_per_second = 0;
  std::string_view reason = "";  // the signal that limits
  double level = 0;              // and its level, as it was judged
  double setpoint = 0;           // that applies to it
};

// Describes the work since the last update.
struct Demand {
  double inflow_bytes_per_second = 0;  // all that was admitted: what the engine received
  double bytes_per_second = 0;         // the part that counts against this limit
  bool waited = false;                 // some of it had to wait
};

class RateLaw {
 public:
  RateLaw(const ControlSettings& settings, ProcessVariable process_variable, Duration tick);

  RateDecision Update(const LoadSample& sample, const Demand& demand, Duration dt);

  // Returns a limit to hold while no samples come: one that lets the level sink slowly, as far as is known. P and D
  // correct the error of a moment; held without looking, they would fill or empty the engine. Only the braking part of
  // the integral counts. If the signal does not report its drain, returns no less than what was let in lately, or the
  // last limit if nothing is known. Returns 0 if nothing limits.
  double HeldLimit(double lately_bytes_per_second) const;
  // The lowest value that the limit may have.
  double LowestLimit() const;

  // The state of the loop that limits.
  PidState State() const;
  double setpoint() const { return settings_.setpoint; }
  const PidGains& gains() const { return settings_.gains; }

  // Ignores gains that no controller takes.
  void SetGains(const PidGains& gains) {
    if (IsValid(gains)) settings_.gains = gains;
  }
  // `setpoint` is within 0..1; the loops glide there.
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
    double observed_drain = 0;  // by balance, for a signal that does not report its drain
    bool is_drain_told = false;
    double limit = 0;  // infinite: this loop makes no limit
    bool present = false;
    bool was_present = false;  // in the previous update
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
