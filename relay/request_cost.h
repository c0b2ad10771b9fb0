// What a request is likely to touch, in bytes, from the shape of its filters alone: the cost that the read gate sees.
// Small for what an index leads straight to (ids, the newest of one author), large for what may walk through
// everything.
#pragma once

#include <cstdint>
#include <span>

#include "relay/nostr/filter.h"
#include "throttle/admission.h"

namespace weir {

// `default_limit` and `max_limit` as in QueryOptions.
Cost CostOfRequest(std::span<const Filter> filters, uint64_t default_limit, uint64_t max_limit);
// A COUNT stops at no limit.
Cost CostOfCount(std::span<const Filter> filters);

// Of all conditions together, a filter itself counted as one: what a subscription costs in memory as long as it lives.
uint64_t ValuesIn(std::span<const Filter> filters);

}  // namespace weir
