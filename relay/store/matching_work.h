// Estimates the work of matching a filter with a stored event, in the unit of relay/account/work.h. This work grows
// with the number of the event's tags times the number of the filter's tag conditions.
#pragma once

#include <bit>
#include <iterator>

#include "relay/account/work.h"
#include "relay/nostr/filter.h"

namespace weir {

// Returns the work for one tag of an event: comparing its letter with each tag condition of `filter`, and a binary
// search among the values.
inline Work TagWorkOf(const Filter& filter) {
  Work work = 0;
  for (const TagCondition& tag : filter.tags)
    work += kTagVisitWork * (1 + static_cast<Work>(std::bit_width(tag.values.size())));
  return work;
}

// Returns the work for an event with this number of tags; `tag_work` is the filter's TagWorkOf.
inline Work MatchingWork(uint64_t tags, Work tag_work) { return kFilterWork + tags * tag_work; }

// Returns the number of tags in the event's record.
inline uint64_t TagsOf(EventView event) {
  const EventView::TagRange tags = event.tags();
  return static_cast<uint64_t>(std::distance(tags.begin(), tags.end()));
}

}  // namespace weir
