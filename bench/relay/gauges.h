// What a relay says of itself on /metrics, for figures that nobody sees from outside.
#pragma once

#include <string>
#include <vector>

#include "bench/relay/endpoint.h"
#include "config/status.h"

namespace weir {

// The values of these metrics by their names (with labels, if any), NaN for one that is not there. Waits for the
// answer.
Result<std::vector<double>> ReadGauges(const Endpoint& endpoint, const std::vector<std::string>& names);

}  // namespace weir
