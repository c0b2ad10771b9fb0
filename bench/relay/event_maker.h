// Makes signed events in a mix like that of public relays: notes, replies, reactions, reposts, profiles, follow and
// relay lists, zaps, articles. The mix has no ephemeral kinds, which relays need not store, and no kinds 4 and 1059,
// which only some clients may read. So two relays can hold the same events afterwards. The mean size is 0.68 KB of
// JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace weir {

struct EventRecipe {
  // A name for the use of the events. Events of different purposes have different ids. So no scenario publishes an
  // event that another scenario has already stored in the database.
  std::string purpose;
  uint64_t seed = 1;
  size_t count = 0;
  // The day after the newest event, in whole days since 1970. The events are from the 30 days before it.
  uint64_t day = 0;
  // True: all events are of kind 1 and by one author, who has no events of another purpose, for live subscriptions.
  bool one_author = false;
  // Above 0: all events are of kind 1 and by so many authors in turn, who have no events of another purpose.
  size_t own_authors = 0;
  // True: some events arrive late, by at most 30 days; some are large; some delete an earlier event of their author.
  bool lived_in = false;
  // Above 0: all events are notes with texts of this size. 0: the events are the mix.
  size_t content_bytes = 0;
};

// Returns the present day, in whole days since 1970.
uint64_t Today();

// Makes the events of the recipe and calls `take` with each. The same recipe makes the same events. An event takes
// about 50 µs, because of its signature.
void MakeEvents(const EventRecipe& recipe, const std::function<void(std::string json)>& take);

}  // namespace weir
