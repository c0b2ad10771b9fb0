// Which entries of the index answer a filter with the least visits.
//
//   ids                             the ids themselves
//   authors x kinds                 addresses where the kinds are replaceable, else the author's entries of each kind
//   authors, or a tag's values      their entries, of each kind asked for
//   kinds                           entries of each kind, passed over by author
//   nothing of these                all entries by time, passed over by kind and author
//
// Where both authors and tags are named nothing but a look at the data can tell which has less (plan_race.h). What
// makes too many ranges falls back to the next coarser index. A plan selects a superset of what matches; no I/O in
// here.
#pragma once

#include <cstdint>
#include <vector>

#include "relay/nostr/filter.h"
#include "relay/store/keys.h"

namespace weir {

struct PlanLimits {
  size_t max_ranges = 1024;  // 300 bytes of memory and about 3 µs each
  size_t max_points = 5000;
  size_t max_plans = 4;  // that are compared; each may have as many ranges
};

struct Plan {
  std::vector<Key> points;       // keys i and d, looked up one by one
  std::vector<Key> ranges;       // prefixes of entries a, t, k, c with the kind, if they have one
  std::vector<Key> kind_ranges;  // prefixes of entries a and t, to be asked for every kind there is
  // What an entry must say of its event, sorted; empty: anything.
  std::vector<uint32_t> by;
  std::vector<uint16_t> kinds;

  size_t size() const { return points.size() + ranges.size() + kind_ranges.size(); }
  uint64_t held_bytes() const {
    return (points.capacity() + ranges.capacity() + kind_ranges.capacity()) * sizeof(Key) +
           by.capacity() * sizeof(by[0]) + kinds.capacity() * sizeof(kinds[0]);
  }
  bool Wants(const IndexEntry& entry) const;
};

// A plan that is not made yet: its keys may be a thousand hashes.
struct PlanChoice {
  enum class Index : uint8_t { kIds, kAuthors, kTag, kKinds, kTime };
  Index index;
  size_t tag = 0;  // which of the filter's
};

// Best guess first. Empty if the filter matches nothing.
std::vector<PlanChoice> PossiblePlans(const Filter& filter, const PlanLimits& limits = {});
// With the filter and the limits that it was possible for.
Plan MakePlan(const Filter& filter, const PlanChoice& choice, const PlanLimits& limits = {});

// For a plan whose kind_ranges turned out to have too many kinds: all entries, by time.
Plan CoarsestPlan(const Filter& filter);
// The entries of all authors, passed over by author: of each kind where the filter names a few, else by time.
Plan EverybodysPlan(const Filter& filter);

}  // namespace weir
