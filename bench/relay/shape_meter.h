// Measures one shape of REQ, on one connection of a relay that has nothing else to do.
#pragma once

#include <cstddef>

#include "bench/relay/load_scenario.h"
#include "bench/relay/shapes.h"

namespace weir {

// Returns the latency to EOSE, the cost of a REQ, and a digest of the results, which shows whether two relays answered
// the same. Each figure is named after its shape.
Result<LoadFigures> MeasureShape(const LoadTarget& target, const LoadPlan& plan, const ReqShape& shape,
                                 size_t requests);

}  // namespace weir
