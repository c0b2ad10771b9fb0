// Runs a scenario: moves plant, monitor, law and load on one virtual clock, from event to event. The same arguments
// give exactly the same result on the same build.
#pragma once

#include <string_view>
#include <vector>

#include "bench/simulator/figures.h"
#include "bench/simulator/scenario.h"
#include "throttle/limiter_settings.h"

namespace weir {

struct SimulationOptions {
  const Scenario* scenario = nullptr;  // must not be null
  const Geometry* geometry = nullptr;  // must not be null
  std::string_view law = "weir";       // one of LawNames(), or "fixed"
  double fixed_bytes_per_second = 0;   // the rate of the law "fixed"
  LimiterSettings settings;
  double seconds = 0;  // length of the run; 0: that of the scenario
  uint64_t seed = 1;
  int ticks_per_row = 1;  // with more, a long run takes less memory, and the figures of the level are less exact
};

struct SimulationResult {
  std::vector<TickRow> rows;  // one for each ticks_per_row ticks
  Figures figures;
};

SimulationResult Simulate(const SimulationOptions& options);

}  // namespace weir
