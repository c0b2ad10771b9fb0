// RateLaw: computes, from the engine's load, how many bytes per second one class of work may write.
//
// A signal of the load (monitors/load_sample.h) behaves as an integrator: its level rises with the bytes that come in
// and falls with the bytes that the engine drains, by a flush or a compaction. So the law starts from the drain, in
// bytes per second, and corrects it:
//
//   limit = drain − gain · u        u = the controller's output for this signal, 0 at the setpoint in a settled state
//
// Each signal has a loop with a controller (pid_controller.h). The loop is tuned to the signal's geometry (its dead
// time θ and its bytes per unit of level) by the rules for an integrator with dead time (SIMC with τ = θ):
//
//   gain = bytes_per_level / 2θ bytes/s per unit of level, integral time 8θ
//
// P and D have up to six times that gain while the loop brakes; so does P below the setpoint, if the signal shows the
// inflow at once. The integral always has the plain gain, because it is the amount by which the drain was misjudged: if
// the loop, to brake, took six times what the integral had learned below the setpoint, it would brake only far above
// the setpoint.
//
// The lowest limit of all loops applies, and `reason` names its signal. The integrals of the other loops follow that
// limit, so that a loop that takes over goes on from there. But no loop learns to brake from another. When loops did,
// the loop of the memtables learned from that of L0 to brake writes at half its setpoint, although memtables fill and
// are flushed all the time (with RocksDB's default sizes, bulk work did 39 % less than without weir).
//
// A signal is judged by its level without the part that waiting work adds (Signal::waiting), against the higher of the
// class's setpoint and Signal::least_setpoint.
//
// If a signal does not report its drain, its loop estimates the drain: the bytes that came in, less the bytes by which
// the level rose. If kp is 0, nothing is added to this estimate below the setpoint, so the limit could only sink; such
// a loop makes no limit while its level is below its setpoint. If all gains are 0, no loop makes a limit.
//
// While no work waits and demand stays below 0.7 of the limit, the integral may not raise the limit further, because a
// limit that work does not reach teaches nothing. A signal that is new, or that was missing in the last sample, begins
// with an empty integral.
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
  bool open = true;                   // no limit is needed, because work is far from the limit and all levels are low
  double bytes_per_second = 0;        // the limit, which is not in force while open; 0 if no signal limits
  double drain_bytes_per_second = 0;  // the drain of the signal that limits
  std::string_view reason = "";       // the signal that limits; empty if none does
  double level = 0;                   // the level by which this signal was judged
  double setpoint = 0;                // the setpoint that applies to this signal
};

// The writes since the last update.
struct Demand {
  double inflow_bytes_per_second = 0;  // all writes that were admitted, which the engine received
  double bytes_per_second = 0;         // the part that counts against this law's limit
  bool waited = false;                 // some of that part had to wait
};

class RateLaw {
 public:
  // `tick` is the time between two updates; a dead time that is shorter counts as `tick`.
  RateLaw(const ControlSettings& settings, ProcessVariable process_variable, Duration tick);

  // Takes a new sample and the demand of the past `dt`, and returns the limit that applies now.
  RateDecision Update(const LoadSample& sample, const Demand& demand, Duration dt);

  // Returns the limit, in bytes per second, to hold while no samples come; 0 if no signal limits. It is nine tenths of
  // the last drain less the integral's braking, so that the level sinks slowly. P and D are left out: they correct a
  // momentary error, and would fill or empty the engine if they were held. If the signal does not report its drain,
  // returns at least `lately_bytes_per_second`, the rate that was admitted lately, or the last limit if the drain
  // cannot be estimated.
  double HeldLimit(double lately_bytes_per_second) const;
  // Returns the lowest value that the limit may have: a twentieth of the drain, but at least 16 KiB/s.
  double LowestLimit() const;

  // Returns the state of the controller whose signal limits; if no signal limits, an initial state with the setpoint.
  PidState State() const;
  double setpoint() const { return settings_.setpoint; }
  const PidGains& gains() const { return settings_.gains; }

  // Ignores gains for which IsValid is false.
  void SetGains(const PidGains& gains) {
    if (IsValid(gains)) settings_.gains = gains;
  }
  // Sets the setpoint, to which the loops glide. It has to be within 0..1, which is not checked.
  void SetSetpoint(double setpoint) { settings_.setpoint = setpoint; }
  // Forgets all loops; gains and setpoint stay.
  void Reset();

 private:
  struct Loop {
    std::string_view name;
    PidController pid;
    double level = 0;
    double setpoint = 0;
    double gain = 0;  // bytes/s per unit of level
    Duration integral_time{};
    double drain = 0;           // bytes/s
    double observed_drain = 0;  // an estimate, for a signal that does not report its drain
    bool is_drain_told = false;
    double limit = 0;          // bytes/s; infinite: this loop makes no limit
    bool present = false;      // the signal is in the newest sample
    bool was_present = false;  // the signal was in the sample before that
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
  Loop* selected_ = nullptr;  // the loop whose limit applies; null: none limits
};

}  // namespace weir
