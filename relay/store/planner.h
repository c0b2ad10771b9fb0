// Chooses the entries of the index that answer a filter with the fewest visits.
//
//   ids                             the ids themselves
//   authors x kinds                 addresses if the kinds are replaceable, else the author's entries of each kind
//   authors, or a tag's values      their entries, of each kind asked for
//   kinds                           entries of each kind, passing over other authors'
//   none of these                   all entries by time, passing over other kinds and authors'
//
// If both authors and tags are named, only a look at the data can tell which has fewer entries (plan_race.h). A filter
// that needs too many ranges falls back to the next coarser index. A plan selects a superset of the matches. There is
// no I/O in here.
#pragma once

#include <cstdint>
#include <vector>

#include "relay/nostr/filter.h"
#include "relay/store/keys.h"

namespace weir {

struct PlanLimits {
  size_t max_ranges = 1024;  // 300 bytes of memory and about 3 µs each
  size_t max_points = 5000;
  size_t max_plans = 4;  // that are compared; each may have this many ranges
};

struct Plan {
  std::vector<Key> points;       // keys i and d, looked up one by one
  std::vector<Key> ranges;       // prefixes of entries a, t, k, c with the kind, if they have one
  std::vector<Key> kind_ranges;  // prefixes of entries a and t, each to be read for every kind there is
  // Values that an entry must have, sorted; empty: any.
  std::vector<uint32_t> by;
  std::vector<uint16_t> kinds;

  size_t size() const { return points.size() + ranges.size() + kind_ranges.size(); }
  uint64_t held_bytes() const {
    return (points.capacity() + ranges.capacity() + kind_ranges.capacity()) * sizeof(Key) +
           by.capacity() * sizeof(by[0]) + kinds.capacity() * sizeof(kinds[0]);
  }
  bool Wants(const IndexEntry& entry) const;
};

// A plan that is not made yet, because its keys may be a thousand hashes.
struct PlanChoice {
  enum class Index : uint8_t { kIds, kAuthors, kTag, kKinds, kTime };
  Index index;
  size_t tag = 0;  // index of the filter's tag condition
};

// Returns the possible plans, best guess first; none if the filter matches nothing.
std::vector<PlanChoice> PossiblePlans(const Filter& filter, const PlanLimits& limits = {});
// Makes one of them, for the same filter and limits.
Plan MakePlan(const Filter& filter, const PlanChoice& choice, const PlanLimits& limits = {});

// Returns a plan for all entries, by time: for a plan whose kind_ranges turned out to have too many kinds.
Plan CoarsestPlan(const Filter& filter);
// Returns a plan that reads all authors' entries and passes over other authors': by kind if the filter names a few
// kinds, else by time.
Plan EverybodysPlan(const Filter& filter);

}  // namespace weir
