// Jain's fairness index, which shows how equally something is shared.
#pragma once

#include <vector>

namespace weir {

// Returns 1 if all n shares are equal, 1/n if one share has everything, and NaN if all shares are 0 or there are none.
double JainIndex(const std::vector<double>& shares);

}  // namespace weir
