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
};

struct SimulationResult {
  std::vector<TickRow> rows;  // one for each tick
  Figures figures;
};

SimulationResult Simulate(const SimulationOptions& options);

}  // namespace weir
