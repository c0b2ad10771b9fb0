// Makes tables with medians, ranges and the ratio between two relays.
#pragma once

#include <string>
#include <vector>

#include "bench/measure/results.h"

namespace weir {

// Returns Markdown: first a table with the main figures, then every figure of every scenario. If there are two relays
// or more, the last column is the second relay's median divided by the first's; for digests, it is whether all relays
// agree.
std::string ResultTables(const std::vector<ResultRow>& rows);

}  // namespace weir
