// The REQs that are measured, with parameters from events that the relay holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/relay/event_set.h"

namespace weir {

struct ReqShape {
  std::string name;
  bool heavy = false;  // hundreds of results
  std::vector<std::string> filters;
};

// Returns all shapes with `variants` filters of each; the same seed makes the same filters.
std::vector<ReqShape> ReqShapes(const EventSet& stored, size_t variants, uint64_t seed);

// Returns the four that interactive clients ask most (id, author and kind, #e, kind since), one after the other.
std::vector<std::string> InteractiveFilters(const EventSet& stored, size_t variants, uint64_t seed);

}  // namespace weir
