// Reports a run of the simulator: as curves and figures for people, as CSV and JSON for programs.
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

// Returns curves of the level with its setpoint, of the limit and of the inflow.
std::string Curves(const Reported& run, const Terminal& terminal);

// Returns a table with one line for each figure and one column for each run.
std::string FigureTable(const std::vector<const Reported*>& runs, const std::vector<std::string>& headings);

// Returns a header, then one line for each tick.
std::string AsCsv(const SimulationResult& result);

// Returns an object if there is one run, else an array of objects.
std::string AsJson(const std::vector<const Reported*>& runs);

}  // namespace weir
