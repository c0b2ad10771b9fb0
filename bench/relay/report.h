// Tables with medians, ranges and the ratio between two relays.
#pragma once

#include <string>
#include <vector>

#include "bench/measure/results.h"

namespace weir {

// Returns Markdown: first the figures that relay.md asks for, then every figure of every scenario. With two relays or
// more the last column is the second's median over the first's or, for digests, whether all relays agree.
std::string ResultTables(const std::vector<ResultRow>& rows);

// Returns the figures as they are printed after one scenario.
std::string PlainFigures(const LoadFigures& figures);

}  // namespace weir
