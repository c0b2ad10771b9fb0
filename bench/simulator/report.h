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

// Draws the level with its setpoint, the limit, the inflow.
std::string Curves(const Reported& run, const Terminal& terminal);

// Prints one line for each figure and one column for each run.
std::string FigureTable(const std::vector<const Reported*>& runs, const std::vector<std::string>& headings);

// Prints a header, then one line for each tick.
std::string AsCsv(const SimulationResult& result);

// Prints an object for one run, else an array of objects.
std::string AsJson(const std::vector<const Reported*>& runs);

}  // namespace weir
