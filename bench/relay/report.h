// Makes tables with medians, ranges and the ratio between two relays.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/measure/results.h"

namespace weir {

// Returns Markdown: first a table with the main figures, then every figure of every scenario. If there are two relays
// or more, the last column is the second relay's median divided by the first's; for digests, it is whether all relays
// agree.
std::string ResultTables(const std::vector<ResultRow>& rows);

// Returns Markdown: for each scenario with REQs of shapes (shape_meter.h) a table of medians, with a row for each
// shape. Figures of several relays stand in one cell, in the order in which the relays come first in the rows ("1.2 →
// 0.8"). A cell is bold if the last relay takes more than 0.8 of the first one's.
std::string ShapeTables(const std::vector<ResultRow>& rows);

// Returns the median of the rows of this relay, scenario and figure; NaN if there are none.
double MedianOf(const std::vector<ResultRow>& rows, const std::string& relay, std::string_view scenario,
                std::string_view figure);

}  // namespace weir
