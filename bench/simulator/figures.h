// The figures that a run is judged by; README.md defines each. Figures that do not apply (the level does not settle, no
// write waits) are NaN and print as null.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bench/simulator/load.h"

namespace weir {

// The state after a tick.
struct TickRow {
  double time_s = 0;
  double level = 0;  // highest of the signals that act on writes
  double setpoint = 0;
  bool open = true;
  double limit = 0;  // bytes/s for bulk work, when not open
  double drain = 0;
  double inflow = 0;  // bytes/s written since the last tick, by all
  double p = 0;
  double i = 0;
  double d = 0;
  std::string reason;
  uint64_t l0_files = 0;
  double l0_bytes = 0;
  double l1_bytes = 0;
  double tree_bytes = 0;
  double memtable_bytes = 0;
  double pending_bytes = 0;
  double memory_bytes = 0;
  bool braking = false;  // the engine brakes by itself
};

struct Figures {
  double setpoint = 0;
  double integral_seconds = 0;
  double overshoot_percent = 0;
  double settling_seconds = 0;
  double steady_error = 0;
  double highest_level = 0;
  double brake_delay_seconds = 0;
  double aggregate_bytes_per_second = 0;
  double bulk_bytes_per_second = 0;
  double interactive_p50_ms = 0;
  double interactive_p99_ms = 0;
  double interactive_p999_ms = 0;
  double interactive_max_ms = 0;
  double interactive_refused = 0;
  double bulk_refused = 0;
  double stalled_seconds = 0;
  double escapes = 0;
  double jain_index = 0;
};

// The time in which the level is judged, in seconds of the run, and the integral time that it is measured in.
struct Judged {
  double from_s = 0;
  double until_s = 0;
  double integral_s = 20;
};

// Fills in the figures of the level's course: overshoot, settling, steady error, highest level.
void JudgeLevel(const std::vector<TickRow>& rows, const Judged& judged, Figures* figures);
// Fills in the figures of the load, which was counted for `seconds`.
void JudgeLoad(LoadTally tally, double seconds, Figures* figures);

// Returns names and values, in the order of the README.
std::vector<std::pair<std::string, double>> Named(const Figures& figures);

}  // namespace weir
