// Measures one shape of REQ (shapes.h), on one connection of an otherwise idle relay.
#pragma once

#include <cstddef>

#include "bench/relay/load_scenario.h"
#include "bench/relay/shapes.h"

namespace weir {

// Returns the latency to EOSE, the cost of a REQ, and a digest of the results, which shows whether two relays returned
// the same events. The name of each figure contains the name of the shape.
Result<LoadFigures> MeasureShape(const LoadTarget& target, const LoadPlan& plan, const ReqShape& shape,
                                 size_t requests);

}  // namespace weir
