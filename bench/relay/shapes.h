// Makes the REQs that are measured, with parameters from events that the relay has stored. A shape is a kind of REQ,
// such as "the newest 20 of an author"; its filters differ only in their values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/relay/event_set.h"

namespace weir {

struct ReqShape {
  std::string name;
  bool heavy = false;  // true if a REQ has hundreds of results
  std::vector<std::string> filters;
};

// Returns all shapes, with `variants` filters each. The same seed makes the same filters.
std::vector<ReqShape> ReqShapes(const EventSet& stored, size_t variants, uint64_t seed);

// Returns the shape with the first `most` different filters.
ReqShape EachOnce(const ReqShape& shape, size_t most);

// Returns filters of the four shapes that interactive clients send most, in turn: by id, by author and kind, by #e, and
// by kind since a time.
std::vector<std::string> InteractiveFilters(const EventSet& stored, size_t variants, uint64_t seed);

}  // namespace weir
