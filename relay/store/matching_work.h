// Counts the work of matching filters with a stored event: its tags times their conditions.
#pragma once

#include <bit>
#include <iterator>

#include "relay/account/work.h"
#include "relay/nostr/filter.h"

namespace weir {

// Returns the work for one tag: whether its letter is a condition's, and then a search among the values.
inline Work TagWorkOf(const Filter& filter) {
  Work work = 0;
  for (const TagCondition& tag : filter.tags)
    work += kTagVisitWork * (1 + static_cast<Work>(std::bit_width(tag.values.size())));
  return work;
}

inline Work MatchingWork(uint64_t tags, Work tag_work) { return kFilterWork + tags * tag_work; }

inline uint64_t TagsOf(EventView event) {
  const EventView::TagRange tags = event.tags();
  return static_cast<uint64_t>(std::distance(tags.begin(), tags.end()));
}

}  // namespace weir
