#include "throttle/rate_law.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "monitors/memory_target.h"
#include "monitors/smoothed.h"

namespace weir {
namespace {

// The gains that count as 1: an operator's gains are multiples of these (ControlSettings).
constexpr PidGains kUnitGains{.kp = 0.5, .ki = 0.1, .kd = 0.05};
constexpr PidGains kNoGains{.kp = 0, .ki = 0, .kd = 0};

// The derivative time as a share of the integral time. Without D the level rises to 11 % above the setpoint after a
// simulated step, instead of 4 %; with ten times as much D it rises to 1 %, and settles 40 s later (TUNING.md).
constexpr double kDerivativeShare = 1.0 / 10;

// How much stronger P and D are while the loop brakes. The inflow acts at once and only the drain has dead time, so the
// rules for dead time are too timid above the setpoint. With 6, on RocksDB (1 MiB buffers), the level settled in 6 s
// instead of 20 s, and a simulated overload of an empty tree rises 9 % above the setpoint (15 % with 3, 6 % with 10).
constexpr double kBraking = 6;

// The factor on P below the setpoint, for a signal that shows the inflow at once, is the dead time in units of
// kFillingTicks ticks, between 1 and kBraking. With a short dead time P must not be strong, because the room could fill
// between two ticks. Without this factor, with RocksDB's default sizes, L0 came half-way to the setpoint in half a
// minute, and bulk work did 17 % less than without weir; now 7 % less.
constexpr double kFillingTicks = 20;
double FillingOf(const Signal& signal, double dead_time_s, Duration tick) {
  if (!signal.shows_inflow_at_once) return 1;
  return std::clamp(dead_time_s / (kFillingTicks * ToSeconds(tick)), 1.0, kBraking);
}

// Below this share of the setpoint, while no work presses against the limit, the gate is open. Room below the setpoint
// is not enough, because small memtables fill between two ticks (16 MiB did in the storm benchmark at 70 MB/s; RocksDB
// braked for 0.6 s).
constexpr double kOpenBelow = 0.5;

// A limit below this share of the drain would only waste the engine's time, and make waits end in refusals.
constexpr double kLowestShareOfDrain = 0.05;
constexpr double kLowestLimit = 16 << 10;

// Demand below this share of the limit does not press against the limit.
constexpr double kPressingDemand = 0.7;

// Below this level a falling signal says nothing about the drain, because little is left to drain.
constexpr double kBusyLevel = 0.2;

// A higher level counts as this, so that the observed drain can forget it within a few seconds.
constexpr double kHighestLevel = 100;

// Share of the estimated drain, for a limit that is held without samples: the estimate may be wrong by a tenth, and a
// limit that was a tenth too high took a simulated level 30 % above the setpoint within ten seconds.
constexpr double kHeldShare = 0.9;

double LowestLimitOf(double drain) { return std::max(kLowestLimit, kLowestShareOfDrain * drain); }

constexpr double kWeightOfMemory = 0.7;
constexpr std::string_view kWeightedName = "weighted";
constexpr std::string_view kMemoryName = "memory";

}  // namespace

RateLaw::RateLaw(const ControlSettings& settings, ProcessVariable process_variable, Duration tick)
    : settings_(settings), process_variable_(process_variable), tick_(tick) {}

RateDecision RateLaw::Update(const LoadSample& sample, const Demand& demand, Duration dt) {
  for (Loop& loop : loops_) loop.was_present = std::exchange(loop.present, false);
  const bool pressed =
      selected_ != nullptr && (demand.waited || demand.bytes_per_second > kPressingDemand * selected_->limit);
  const auto integral = pressed ? PidController::Integral::kFree : PidController::Integral::kHoldDown;

  for (const Signal& signal : Acting(sample)) {
    Loop& loop = LoopOf(signal.name);
    Measure(loop, signal, demand, dt);
    loop.pid.SetOutputMax((loop.drain - LowestLimitOf(loop.drain)) / loop.gain);
    loop.limit = LimitOf(loop, loop.pid.Update(signal.level, dt, integral));
  }
  const RateDecision decision = Decide(!pressed);
  for (Loop& loop : loops_) {
    if (!loop.present) continue;
    if (decision.open) {
      loop.pid.Relax(dt, loop.integral_time);
    } else if (pressed && &loop != selected_) {
      loop.pid.Track((loop.drain - decision.bytes_per_second) / loop.gain, dt);
    }
  }
  return decision;
}

double RateLaw::LimitOf(const Loop& loop, double output) const {
  const bool knows_room = loop.is_drain_told || settings_.gains.kp > 0;
  if (!knows_room && loop.level < loop.setpoint) return std::numeric_limits<double>::infinity();
  return std::max(LowestLimitOf(loop.drain), loop.drain - loop.gain * output);
}

// Returns the signals that act on this law: those that have geometry, each with the level by which it is judged.
std::vector<Signal> RateLaw::Acting(const LoadSample& sample) const {
  std::vector<Signal> acting;
  if (settings_.gains == kNoGains) return acting;
  for (Signal s : sample.signals()) {
    if (!s.acts_on_writes || !(s.bytes_per_level > 0) || !std::isfinite(s.bytes_per_level) || !std::isfinite(s.level))
      continue;
    s.level = std::clamp(s.judged(), 0.0, kHighestLevel);
    acting.push_back(s);
  }
  if (process_variable_ == ProcessVariable::kBottleneck || acting.empty()) return acting;

  // The weighted sum moves like the highest engine signal, so it takes the geometry of that signal.
  Signal weighted;
  for (const Signal& s : acting)
    if (s.name != kMemoryName && (weighted.name.empty() || s.level > weighted.level)) weighted = s;
  if (weighted.name.empty()) weighted = acting.front();
  if (!std::isfinite(sample.memory_pressure)) return {};
  const Signal* const memory = sample.Find(kMemoryName);
  const double pressure = sample.memory_pressure - (memory != nullptr ? memory->waiting : 0);
  weighted.level = kWeightOfMemory * std::clamp(pressure, 0.0, kHighestLevel) + (1 - kWeightOfMemory) * weighted.level;
  weighted.least_setpoint = kWeightOfMemory * kLeastMemorySetpoint + (1 - kWeightOfMemory) * settings_.setpoint;
  weighted.name = kWeightedName;
  return {weighted};
}

void RateLaw::Measure(Loop& loop, const Signal& signal, const Demand& demand, Duration dt) {
  const double dead_time_s = std::max(ToSeconds(signal.dead_time), ToSeconds(tick_));
  const double gain_before = std::exchange(loop.gain, signal.bytes_per_level / (2 * dead_time_s));
  loop.integral_time = FromSeconds(8 * dead_time_s);
  loop.setpoint = std::max(settings_.setpoint, signal.least_setpoint);
  loop.pid.SetSetpoint(loop.setpoint);

  if (!loop.was_present) {
    // The first level of a signal is not a change of the level: neither the drain nor the derivative may treat it as
    // one.
    loop.level = signal.level;
    loop.pid.Reset();
  } else {
    // The integral has learned by how many bytes/s the drain was misjudged; a new gain does not change that.
    loop.pid.ScaleIntegral(gain_before / loop.gain);
  }
  const double dt_s = ToSeconds(dt);
  if (dt_s > 0 && (signal.level > kBusyLevel || loop.level > kBusyLevel)) {
    const double drained = demand.inflow_bytes_per_second - signal.bytes_per_level * (signal.level - loop.level) / dt_s;
    loop.observed_drain += (drained - loop.observed_drain) * SmoothingWeight(dt_s, 4 * dead_time_s);
  }
  const double known_drain = signal.drain_bytes_per_second;
  loop.is_drain_told = std::isfinite(known_drain) && known_drain > 0;
  loop.drain = loop.is_drain_told ? known_drain : std::max(0.0, loop.observed_drain);
  loop.level = signal.level;
  loop.present = true;

  loop.pid.SetFilling(FillingOf(signal, dead_time_s, tick_));
  const double integral_s = ToSeconds(loop.integral_time);
  loop.pid.SetGains({.kp = settings_.gains.kp / kUnitGains.kp,
                     .ki = settings_.gains.ki / kUnitGains.ki / integral_s,
                     .kd = settings_.gains.kd / kUnitGains.kd * kDerivativeShare * integral_s});
}

RateDecision RateLaw::Decide(bool may_open) {
  selected_ = nullptr;
  for (Loop& loop : loops_) {
    if (!loop.present) continue;
    may_open = may_open && loop.level < kOpenBelow * loop.setpoint;
    if (std::isfinite(loop.limit) && (selected_ == nullptr || loop.limit < selected_->limit)) selected_ = &loop;
  }
  if (selected_ == nullptr) return {.setpoint = settings_.setpoint};
  return {.open = may_open,
          .bytes_per_second = selected_->limit,
          .drain_bytes_per_second = selected_->drain,
          .reason = selected_->name,
          .level = selected_->level,
          .setpoint = selected_->setpoint};
}

RateLaw::Loop& RateLaw::LoopOf(std::string_view name) {
  for (Loop& loop : loops_)
    if (loop.name == name) return loop;
  PidSettings pid;
  pid.setpoint = settings_.setpoint;
  pid.filter_alpha = settings_.filter_alpha;
  pid.nominal_tick = tick_;
  pid.braking = kBraking;
  // The limit has no upper bound; its lower bound is set in each update.
  pid.output_min = -1e9;
  pid.output_max = 1e9;
  return loops_.emplace_back(Loop{.name = name, .pid = PidController(pid)});
}

double RateLaw::HeldLimit(double lately) const {
  if (selected_ == nullptr) return 0;
  const Loop& loop = *selected_;
  const double held = kHeldShare * (loop.drain - loop.gain * std::max(0.0, loop.pid.GetState().i));
  if (loop.is_drain_told) return std::max(LowestLimitOf(loop.drain), held);
  // The observed drain says nothing while the engine is idle, or, for a log, between two checkpoints.
  const bool is_unknown = loop.level < kOpenBelow * loop.setpoint || std::max(held, lately) <= kLowestLimit;
  return is_unknown ? loop.limit : std::max(held, lately);
}

double RateLaw::LowestLimit() const { return LowestLimitOf(selected_ != nullptr ? selected_->drain : 0); }

PidState RateLaw::State() const {
  return selected_ != nullptr ? selected_->pid.GetState() : PidState{.setpoint = settings_.setpoint};
}

void RateLaw::Reset() {
  loops_.clear();
  selected_ = nullptr;
}

}  // namespace weir
