// Runs the simulator for tests.
#pragma once

#include <string_view>

#include "bench/simulator/simulation.h"

namespace weir {

inline SimulationOptions OptionsOf(std::string_view scenario, std::string_view law = "weir",
                                   std::string_view geometry = "recipe") {
  return {.scenario = FindScenario(scenario), .geometry = FindGeometry(geometry), .law = law};
}

inline Figures FiguresOf(std::string_view scenario, std::string_view law = "weir",
                         std::string_view geometry = "recipe") {
  return Simulate(OptionsOf(scenario, law, geometry)).figures;
}

}  // namespace weir
