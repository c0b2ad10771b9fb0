// A run as text: curves and figures for people, CSV and JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "bench/simulator/plot.h"
#include "bench/simulator/simulation.h"

namespace weir {

struct Reported {
  SimulationOptions options;
  SimulationResult result;
};

// The level with its setpoint, the limit, the inflow.
std::string Curves(const Reported& run, const Terminal& terminal);

// A line a figure, a column a run.
std::string FigureTable(const std::vector<const Reported*>& runs, const std::vector<std::string>& headings);

// A header, then a line a tick.
std::string AsCsv(const SimulationResult& result);

// An object for one run, else an array of them.
std::string AsJson(const std::vector<const Reported*>& runs);

}  // namespace weir
