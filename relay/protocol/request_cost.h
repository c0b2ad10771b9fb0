// Estimates how many bytes a request will touch, from the shape of its filters alone. The scan gate takes this as cost.
// The estimate is small if an index leads straight to the events (ids, the newest of one author), large if the request
// may walk through everything.
#pragma once

#include <cstdint>
#include <span>

#include "relay/account/work.h"
#include "relay/nostr/filter.h"
#include "throttle/admission.h"

namespace weir {

// `default_limit` and `max_limit`: see QueryOptions.
Cost CostOfRequest(std::span<const Filter> filters, uint64_t default_limit, uint64_t max_limit);
// The same measure, for a walk that has done this much work: an event visited, fetched and matched is about 2,800 of
// work, a range 4,000.
constexpr uint64_t kWalkWorkPerByte = 4;
constexpr Cost CostOfWalk(Work work) { return Cost{work / kWalkWorkPerByte}; }
constexpr Work WalkOf(Cost cost) { return cost.bytes * kWalkWorkPerByte; }
// A COUNT stops at no limit.
Cost CostOfCount(std::span<const Filter> filters);

}  // namespace weir
