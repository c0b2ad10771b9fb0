// How far a query looks, whatever the store.
#pragma once

#include <cstdint>

namespace weir {

// Stands for the filter of an event that matches none.
inline constexpr uint32_t kNoPart = UINT32_MAX;

// How far to look, when all limits are reached, for a match beyond them before it is taken for granted. Where the index
// alone decides it is the very next entry.
inline constexpr uint64_t kLookAhead = 1000;  // visits

// A limit may be all there is.
inline uint64_t AndOne(uint64_t limit) { return limit == UINT64_MAX ? limit : limit + 1; }

}  // namespace weir
