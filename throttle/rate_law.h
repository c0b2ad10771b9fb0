// RateLaw: computes, from the engine's load, how many bytes per second one class of work may write.
//
// A signal of the load (monitors/load_sample.h) behaves as an integrator: its level rises with the bytes that come in
// and falls with the bytes that the engine drains (works off), by a flush or a compaction. So the law starts from the
// drain, the number of bytes per second that the engine drains, and corrects it:
//
//   limit = drain − gain · u        u: output of the signal's controller; about 0 while the level stays at the setpoint
//
// Each signal has a loop with a controller (pid_controller.h). The loop is tuned to the signal's geometry (its dead
// time θ and its bytes per unit of level) by a known set of rules for an integrator with dead time (SIMC with τ = θ):
//
//   gain = bytes_per_level / 2θ bytes/s per unit of level, integral time 8θ
//
// Above the setpoint P has six times that gain, and so has D while the level rises. Below the setpoint, for a signal
// that shows the inflow at once (Signal::shows_inflow_at_once), P has θ / 20 ticks times that gain, but at least one
// and at most six times. The integral always has the plain gain, because it stands for the error of the estimated
// drain. Multiplied by six, the negative integral from a time below the setpoint would keep the loop from braking until
// the level is far above the setpoint.
//
// The lowest limit of all loops applies, and RateDecision::reason names its signal. While work presses against the
// limit, the integrals of the other loops follow it (PidController::Track), so that a loop whose limit becomes the
// lowest continues from it without a jump. But Track never raises an integral above 0, so it makes no loop brake. When
// it did, the loop of the memtables followed that of L0 and then braked writes at half of its own setpoint, although
// memtables fill and are flushed all the time (with RocksDB's default sizes, bulk work did 39 % less than without
// weir).
//
// Each loop compares the level of its signal, without the part that waiting work adds (Signal::waiting), with the
// setpoint of the class or Signal::least_setpoint, whichever is higher.
//
// If a signal does not report its drain, its loop estimates the drain: the bytes that came in, minus the bytes by which
// the level rose. If kp is also 0, the limit would not exceed this estimate below the setpoint and could only sink, so
// the loop sets no limit while its level is below its setpoint. If all gains are 0, no loop sets a limit.
//
// While no work waits and demand stays below 0.7 of the limit, the integral may not raise the limit further, because
// work that does not reach the limit says nothing about the drain. The loop of a signal that is new, or that was
// missing in the last sample, begins with an integral of 0.
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
  double bytes_per_second = 0;         // the writes that count against this law's limit; the caller may average them
  bool waited = false;                 // some of these writes had to wait
};

class RateLaw {
 public:
  // `tick` is the time between two updates; a dead time that is shorter counts as `tick`.
  RateLaw(const ControlSettings& settings, ProcessVariable process_variable, Duration tick);

  // Takes a new sample and the demand of the past `dt`, and returns the limit that applies now.
  RateDecision Update(const LoadSample& sample, const Demand& demand, Duration dt);

  // Returns the limit, in bytes per second, to hold while no samples come; 0 if no signal limits. The limit is nine
  // tenths of the difference between the last drain and the braking by the integral, so that the level sinks slowly,
  // but at least LowestLimit(). P and D are left out: they correct a momentary error, and would fill or empty the
  // engine if they were held. If the signal does not report its drain, returns at least `lately_bytes_per_second`, the
  // rate that was admitted recently, or the last limit if the drain cannot be estimated.
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
  // Sets the setpoint, to which the loops glide. It has to be within 0..1; the function does not check this.
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
    double limit = 0;          // bytes/s; infinite: this loop sets no limit
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
