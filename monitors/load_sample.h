// The load of a storage engine at one moment, as signals that the throttle can compare. The level of an engine's signal
// is 0 when the engine is idle, and 1.0 when the engine itself would begin to brake (to slow down or stop writes). The
// signal `memory` is at 1.0 when the memory in use reaches the memory target, and `own` when the memory that the
// program reports as its own (queues, output) reaches its budget. The throttle keeps the levels at or below a setpoint,
// usually below 1.0 (throttle/adaptive_limiter.h). The bytes of work that it lets through are called admitted.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "config/clock.h"

namespace weir {

struct Signal {
  std::string_view name;  // points to storage that outlives the monitor, usually a literal
  double level = 0;
  // The part of the level that comes from waiting work: work that the program has accepted, but that is not admitted or
  // not done yet. Limits do not depend on this part: a limit that became tighter when its own queue grew would make the
  // queue longer still, and never let it shrink.
  double waiting = 0;
  // The lowest setpoint that the throttle uses for this signal. It is above 0 for a signal whose level does not fall
  // when work has to wait.
  double least_setpoint = 0;

  // The next three say how the level responds to work; the throttle derives the strength of its control from them. A
  // signal with bytes_per_level 0 is shown, but limits nothing.
  double bytes_per_level = 0;         // admitted bytes that raise the level by 1.0 while the engine drains nothing
  Duration dead_time{};               // time from a change of the inflow until the level's trend shows it
  double drain_bytes_per_second = 0;  // rate at which the busy engine works off (drains) admitted bytes; 0: not known

  // True if admitted bytes raise the level within one tick of the limiter. Below the setpoint, the throttle may then
  // react to this signal more strongly than it otherwise would, but never more strongly than it reacts above the
  // setpoint.
  bool shows_inflow_at_once = false;
  // True if a flush of the engine's largest write buffers lowers the level (LoadProbe::FlushLargest). The throttle asks
  // for one when the level stays high.
  bool relieved_by_flush = false;

  // The kinds of work that the throttle limits because of this signal.
  bool acts_on_writes = true;
  bool acts_on_reads = false;  // limits only scans, unless acts_on_cheap_reads is true
  // True if cheap reads (reads that are no scans) raise the level, too, for example because they fill output buffers.
  // The throttle then also limits cheap reads.
  bool acts_on_cheap_reads = false;

  // Returns the level that limits depend on: the level without its waiting part.
  double judged() const { return std::max(0.0, level - waiting); }
};

inline constexpr size_t kMaxSignals = 8;

struct LoadSample {
  std::optional<TimePoint> time;  // when the sample was taken; nullopt: no sample was taken
  std::array<Signal, kMaxSignals> signal_array{};
  size_t signal_count = 0;
  bool has_too_many = false;  // true if more than kMaxSignals were added: the monitor then refuses the sample

  double memory_pressure = 0;      // used memory / memory target
  uint64_t memory_bytes = 0;       // bytes that count against the target
  uint64_t write_burst_bytes = 0;  // bytes that may be admitted at once without a visible step of a level; 0: not known
  bool flush_due = false;          // the monitor flushes the engine's largest write buffers after this sample
  uint64_t escapes = 0;            // how often the engine braked by itself since it was opened or first watched

  std::span<const Signal> signals() const& { return {signal_array.data(), signal_count}; }
  std::span<const Signal> signals() && = delete;  // the span would outlive its sample

  // Adds a signal. If there are kMaxSignals already, drops it and sets has_too_many.
  void Add(const Signal& signal) {
    if (signal_count == kMaxSignals) {
      has_too_many = true;
      return;
    }
    signal_array[signal_count++] = signal;
  }

  // Adds a signal of an engine that has several parts. If the sample has a signal with this name already, keeps only
  // the one with the higher level; if the levels are equal, one that limits work (bytes_per_level above 0).
  void AddHighest(const Signal& signal) {
    for (size_t i = 0; i < signal_count; ++i) {
      Signal& kept = signal_array[i];
      if (kept.name != signal.name) continue;
      const bool kept_limits = kept.bytes_per_level > 0;
      if (signal.level > kept.level || (signal.level == kept.level && !kept_limits)) kept = signal;
      return;
    }
    Add(signal);
  }

  // Returns the signal with this name, or nullptr if there is none. The signal lives as long as the sample.
  const Signal* Find(std::string_view name) const {
    for (const Signal& s : signals())
      if (s.name == name) return &s;
    return nullptr;
  }

  // Returns the level of the signal with this name, or 0 if there is none.
  double LevelOf(std::string_view name) const {
    const Signal* signal = Find(name);
    return signal == nullptr ? 0 : signal->level;
  }

  // Returns true if judged() is above `level` for at least one signal that limits the given kind of work. `acts_on_it`
  // selects the kind, for example &Signal::acts_on_writes.
  bool IsAbove(double level, bool Signal::*acts_on_it) const {
    return std::ranges::any_of(
        signals(), [&](const Signal& s) { return s.bytes_per_level > 0 && s.*acts_on_it && s.judged() > level; });
  }
};

}  // namespace weir
