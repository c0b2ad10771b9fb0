// One shape of REQ, asked on one connection of a relay that has nothing else to do.
#pragma once

#include <cstddef>

#include "bench/relay/load_scenario.h"
#include "bench/relay/shapes.h"

namespace weir {

// Latency to EOSE, what a REQ cost, and a digest of what came, so that two relays can be seen to have answered the
// same. Each figure is named after its shape.
Result<LoadFigures> MeasureShape(const LoadTarget& target, const LoadPlan& plan, const ReqShape& shape,
                                 size_t requests);

}  // namespace weir
