// Constants that the queries of both stores share (query.h, postgres/postgres_query.h). A part of a query is one of its
// filters.
#pragma once

#include <cstdint>

namespace weir {

// Stands in place of a part's number for an event that the part's scan has found but that does not match the part's
// filter.
inline constexpr uint32_t kNoPart = UINT32_MAX;

// When all limits are reached, a query looks for one more match, to learn whether the answer is complete. After this
// number of further visits (index entries and records) it gives up and reports that the answer may be incomplete.
inline constexpr uint64_t kLookAhead = 1000;

// Returns `limit` + 1, or UINT64_MAX if that would overflow.
inline uint64_t AndOne(uint64_t limit) { return limit == UINT64_MAX ? limit : limit + 1; }

}  // namespace weir
