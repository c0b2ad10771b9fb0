// How equally something is shared.
#pragma once

#include <vector>

namespace weir {

// 1 when all have the same, 1/n when one has everything, NaN when there is nothing.
double JainIndex(const std::vector<double>& shares);

}  // namespace weir
