// Signed events as relays see them: notes, replies, reactions, reposts, profiles, follow and relay lists, zaps,
// articles. The mix follows the events that public relays hold, without those that they need not keep (ephemeral kinds)
// or that only some clients may read (kinds 4 and 1059), so that two relays hold the same afterwards; the mean is 0.68
// KB of JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace weir {

struct EventRecipe {
  // A name for the use of the events. Events of different purposes have different ids, so that no scenario meets its
  // own events in a database that another has filled.
  std::string purpose;
  uint64_t seed = 1;
  size_t count = 0;
  // Whole days since 1970; the events are from the 30 days before.
  uint64_t day = 0;
  // All events are of kind 1 and by one author who is in no other purpose: a live subscription asks for these.
  bool one_author = false;
  // Some come late, by up to all of the days; some are large; some delete an event that their author wrote a moment
  // ago.
  bool lived_in = false;
  // Above 0 all events are notes with texts of this size; with 0 they are the mix.
  size_t content_bytes = 0;
};

// Whole days since 1970.
uint64_t Today();

// Makes the same events for the same recipe. Each takes 50 µs, for its signature.
void MakeEvents(const EventRecipe& recipe, const std::function<void(std::string json)>& take);

}  // namespace weir
