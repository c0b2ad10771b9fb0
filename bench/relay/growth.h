// Measures what operations cost on databases of several sizes: runs the benchmark of lived_in.h once for each size, and
// compares the costs.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure/results.h"
#include "bench/relay/lived_in.h"
#include "config/status.h"

namespace weir {

// SizeRows has the results of one size: the number of imported events, and the rows of its results.csv.
struct SizeRows {
  size_t events = 0;
  std::vector<ResultRow> rows;
};

// Returns the exponent of the power of x that fits the points (x, y) best: 0 if y does not change, 1 if it grows as x
// does. Passes over points that are not above 0; NaN if fewer than two are left.
double GrowthExponent(const std::vector<std::pair<double, double>>& points);

// Returns Markdown: for each relay a table of its costs, with a column for each size, the exponent, and the last size's
// cost divided by the first's.
std::string GrowthTables(const std::vector<SizeRows>& sizes);

// Measures each size, in directories of `options.results` that have the size as their name; a size whose directory is
// there is measured already. Then prints the tables, and writes them to growth.md and, for growth.gp, the costs of each
// relay to growth-NAME.csv.
Status RunGrowth(const LivedInOptions& options, const std::vector<size_t>& sizes, const LoadPlan& plan);

}  // namespace weir
