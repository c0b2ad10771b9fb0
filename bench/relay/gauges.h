// Reads a relay's /metrics, for figures that a client cannot measure.
#pragma once

#include <string>
#include <vector>

#include "bench/relay/endpoint.h"
#include "config/status.h"

namespace weir {

// Returns the values of the metrics with these names (and labels, if any), in this order; NaN for one that the relay
// does not have. Blocks until the answer comes.
Result<std::vector<double>> ReadGauges(const Endpoint& endpoint, const std::vector<std::string>& names);

}  // namespace weir
