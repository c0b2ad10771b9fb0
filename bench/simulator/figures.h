// Computes the figures by which a run of the simulator is judged; README.md defines each figure. A figure that does not
// apply (the level does not settle, no write waits) is NaN, and null in JSON.
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
  bool open = true;   // true if bulk work has no limit
  double limit = 0;   // limit of bulk work in bytes/s, if not open
  double drain = 0;   // bytes/s that the engine's background work removes
  double inflow = 0;  // bytes/s that all writers wrote since the last tick
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
  double limit_spread_percent = 0;
  double limit_within_percent = 0;
  double limit_settled_seconds = 0;
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

// The part of the run in which the level is judged, in seconds since the start of the run. The third member is the
// integral time in seconds: the figures measure times in it.
struct Judged {
  double from_s = 0;
  double until_s = 0;
  double integral_s = 20;
};

// Sets the figures about the level (overshoot, settling, steady error, highest level) and about the limit of bulk work.
void JudgeLevel(const std::vector<TickRow>& rows, const Judged& judged, Figures* figures);
// Sets the figures about the load, which was counted during `seconds` seconds.
void JudgeLoad(LoadTally tally, double seconds, Figures* figures);

// Returns the names and values of all figures, in the order of the README.
std::vector<std::pair<std::string, double>> Named(const Figures& figures);

}  // namespace weir
