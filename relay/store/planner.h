// Makes plans for a filter. A plan names the entries of the index (keys.h) that a query has to read to find all events
// that match the filter. These entries may lead to other events, too, so the query matches each event that it finds.
// The planner prefers plans that should have few entries:
//
//   the filter names                the plan reads
//   ids                             the entries of the ids
//   authors and kinds               the addresses of replaceable kinds, and the authors' entries of each other kind
//   authors, or a tag's values      their entries, of each kind that the filter names, or of all kinds
//   kinds                           all entries of each kind, skipping those of other authors
//   none of these                   all entries by time, skipping those of other kinds and authors
//
// If a filter names both authors and tags, or several tags, there are several plans, and only a look at the data shows
// which has fewer entries (plan_race.h). If a plan would need too many ranges, the planner takes the next coarser one.
//
// The functions here do not read the database.
#pragma once

#include <cstdint>
#include <vector>

#include "relay/nostr/filter.h"
#include "relay/store/keys.h"

namespace weir {

struct PlanLimits {
  size_t max_ranges = 1024;  // ranges of one plan; each takes 300 bytes of memory and about 3 µs
  size_t max_points = 5000;  // points of one plan
  size_t max_plans = 4;      // plans of one filter that are compared
};

struct Plan {
  std::vector<Key> points;       // keys of entries i and d, which are looked up
  std::vector<Key> ranges;       // beginnings of the keys of entries a, t, k and c, with the kind, except for c
  std::vector<Key> kind_ranges;  // beginnings of the keys of entries a and t, without the kind: all kinds are read
  // Values that an entry may have, sorted; empty: any value.
  std::vector<uint32_t> by;     // IndexEntry::by
  std::vector<uint16_t> kinds;  // IndexEntry::kind

  // Returns the number of keys.
  size_t size() const { return points.size() + ranges.size() + kind_ranges.size(); }
  uint64_t held_bytes() const {
    return (points.capacity() + ranges.capacity() + kind_ranges.capacity()) * sizeof(Key) +
           by.capacity() * sizeof(by[0]) + kinds.capacity() * sizeof(kinds[0]);
  }
  // Returns true if `by` and `kinds` allow the entry.
  bool Wants(const IndexEntry& entry) const;
};

// A plan that is possible but not made yet. (To make it may take a thousand hashes.)
struct PlanChoice {
  enum class Index : uint8_t { kIds, kAuthors, kTag, kKinds, kTime };
  Index index;
  size_t tag = 0;  // for kTag: the index of the condition in Filter::tags
};

// Returns the possible plans, the most promising one first. Returns none if the filter can match no event.
std::vector<PlanChoice> PossiblePlans(const Filter& filter, const PlanLimits& limits = {});
// Makes one of the possible plans. `filter` and `limits` must be those that PossiblePlans got.
Plan MakePlan(const Filter& filter, const PlanChoice& choice, const PlanLimits& limits = {});

// Returns the plan that reads all entries by time. It replaces a plan whose kind_ranges turn out to have too many
// kinds.
Plan CoarsestPlan(const Filter& filter);
// Returns a plan that reads the entries of all authors and skips those of authors that the filter does not name: by
// kind if the filter names at most 8 kinds, else by time.
Plan EverybodysPlan(const Filter& filter);

}  // namespace weir
