// Reads a relay's /metrics, for figures that cannot be seen from outside.
#pragma once

#include <string>
#include <vector>

#include "bench/relay/endpoint.h"
#include "config/status.h"

namespace weir {

// Returns the values of these metrics by their names (with labels, if any), NaN for one that is not there. Waits for
// the answer.
Result<std::vector<double>> ReadGauges(const Endpoint& endpoint, const std::vector<std::string>& names);

}  // namespace weir
