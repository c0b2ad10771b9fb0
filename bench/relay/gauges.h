// Reads numbers that a relay publishes about itself.
#pragma once

#include <string>
#include <vector>

#include "bench/relay/endpoint.h"
#include "config/status.h"

namespace weir {

// Returns the values of the metrics at /metrics with these names (and labels, if any), in this order; NaN for one that
// the relay does not have.
Result<std::vector<double>> ReadGauges(const Endpoint& endpoint, const std::vector<std::string>& names);

}  // namespace weir
