// Estimates from a request's filters how many bytes of the store the request will read. The scan gate
// (throttle/adaptive_limiter.h) admits the request at this cost. The estimate is small if an index leads straight to
// the events (events by id, the newest events of one author), and large if the request may read the whole store.
#pragma once

#include <cstdint>
#include <span>

#include "relay/account/work.h"
#include "relay/nostr/filter.h"
#include "throttle/admission.h"

namespace weir {

// Returns the estimate for a REQ. `default_limit` and `max_limit` are those of QueryOptions
// (relay/store/event_store.h).
Cost CostOfRequest(std::span<const Filter> filters, uint64_t default_limit, uint64_t max_limit);
// CostOfWalk returns the cost of a query that has done `work`; WalkOf returns the work of a query with this `cost`. The
// factor between them follows from the estimates in request_cost.cc: visiting, fetching and matching an event counts as
// 700 bytes and takes about 2,800 units of work; finding the beginning of an index range counts as 1,024 bytes and
// takes 4,000 units.
constexpr uint64_t kWalkWorkPerByte = 4;
constexpr Cost CostOfWalk(Work work) { return Cost{work / kWalkWorkPerByte}; }
constexpr Work WalkOf(Cost cost) { return cost.bytes * kWalkWorkPerByte; }
// Returns the estimate for a COUNT, which counts all matches of a filter without a limit.
Cost CostOfCount(std::span<const Filter> filters);

}  // namespace weir
