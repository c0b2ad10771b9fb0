// Runs a scenario: plant, monitor, law and load on one virtual clock, from event to event. The same arguments give the
// same result, bit for bit, on the same build.
#pragma once

#include <string_view>
#include <vector>

#include "bench/simulator/figures.h"
#include "bench/simulator/scenario.h"
#include "throttle/limiter_settings.h"

namespace weir {

struct SimulationOptions {
  const Scenario* scenario = nullptr;  // must be set, and so must the geometry
  const Geometry* geometry = nullptr;
  std::string_view law = "weir";      // one of LawNames(), or "fixed"
  double fixed_bytes_per_second = 0;  // the rate of "fixed"
  LimiterSettings settings;
  double seconds = 0;  // instead of the scenario's, if above 0
  uint64_t seed = 1;
};

struct SimulationResult {
  std::vector<TickRow> rows;  // one a tick
  Figures figures;
};

SimulationResult Simulate(const SimulationOptions& options);

}  // namespace weir
