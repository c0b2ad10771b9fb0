// Tells how far a query looks, for every store.
#pragma once

#include <cstdint>

namespace weir {

// In place of a part's number: the event does not match the part's filter.
inline constexpr uint32_t kNoPart = UINT32_MAX;

// When all limits are reached: visits to look for a match beyond them, before it is taken for granted that there is
// one. If the index alone decides, it is the very next entry.
inline constexpr uint64_t kLookAhead = 1000;  // visits

// Returns the limit plus 1, without overflow.
inline uint64_t AndOne(uint64_t limit) { return limit == UINT64_MAX ? limit : limit + 1; }

}  // namespace weir
