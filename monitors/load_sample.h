// The load of a storage engine at one moment, in signals that the throttle can compare: every level is 0 when idle
// and 1.0 where the engine itself would begin to brake.
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
  // The part of the level that comes from work that was taken in and waits for its turn. No limit is judged by it: a
  // limit that its own queue tightened would make the queue longer, and never let it go.
  double waiting = 0;
  // The lowest setpoint that holds for this signal: for a level that waiting does not lower.
  double least_setpoint = 0;

  // The geometry behind the level, from which the throttle derives the strength of its answer. A signal without
  // geometry (bytes_per_level 0) is shown but does not act.
  double bytes_per_level = 0;         // admitted bytes that raise the level by 1.0 when nothing drains
  Duration dead_time{};               // from a change of the inflow until the level's trend shows it
  double drain_bytes_per_second = 0;  // drained while the engine is busy, in admitted bytes; 0: not known

  // Admitted bytes raise the level in the same tick, so room may be filled as briskly as the engine is braked.
  bool shows_inflow_at_once = false;

  bool acts_on_writes = true;
  bool acts_on_reads = false;
  // Cheap reads raise it too, so all reads are limited for it, not only scans: for buffers that answers fill.
  bool acts_on_cheap_reads = false;

  // The level by which limits are decided.
  double judged() const { return std::max(0.0, level - waiting); }
};

inline constexpr size_t kMaxSignals = 8;

struct LoadSample {
  std::optional<TimePoint> time;  // when the sample was taken; nullopt: never
  std::array<Signal, kMaxSignals> signal_array{};
  size_t signal_count = 0;
  bool has_too_many = false;  // more than kMaxSignals were added, and the sample is no good

  double memory_pressure = 0;      // used / target
  uint64_t memory_bytes = 0;       // bytes that count against the target
  uint64_t write_burst_bytes = 0;  // may be admitted at once without a visible step of any level; 0: not known
  uint64_t escapes = 0;            // times that the engine braked by itself since it was opened

  std::span<const Signal> signals() const& { return {signal_array.data(), signal_count}; }
  std::span<const Signal> signals() && = delete;  // it would outlive its sample

  void Add(const Signal& signal) {
    if (signal_count == kMaxSignals) {
      has_too_many = true;
      return;
    }
    signal_array[signal_count++] = signal;
  }

  // Adds the signal, or replaces the one of that name if this one is higher: for engines of several parts.
  void AddHighest(const Signal& signal) {
    for (size_t i = 0; i < signal_count; ++i) {
      if (signal_array[i].name != signal.name) continue;
      if (signal.level > signal_array[i].level) signal_array[i] = signal;
      return;
    }
    Add(signal);
  }

  // Returns nullptr if the sample has no such signal.
  const Signal* Find(std::string_view name) const {
    for (const Signal& s : signals())
      if (s.name == name) return &s;
    return nullptr;
  }

  // Returns true if a signal that acts, and acts on such work (Signal::acts_on_writes, say), is judged above the level.
  bool IsAbove(double level, bool Signal::*acts_on_it) const {
    return std::ranges::any_of(
        signals(), [&](const Signal& s) { return s.bytes_per_level > 0 && s.*acts_on_it && s.judged() > level; });
  }
};

}  // namespace weir
