// SearchedEvents: which events have words in the index of a store, the words of such an event, and the work of finding
// and saving them. Both stores use it, so that they find the same events.
//
// Threads: any.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "relay/account/work.h"
#include "relay/nostr/content.h"
#include "relay/nostr/event.h"
#include "relay/search/search_score.h"
#include "relay/search/search_words.h"

namespace weir {

class SearchedEvents {
 public:
  // `kinds` are the kinds whose content is searched, sorted.
  explicit SearchedEvents(std::vector<uint16_t> kinds) : kinds_(std::move(kinds)) {}

  const std::vector<uint16_t>& kinds() const { return kinds_; }
  bool Searches(uint16_t kind) const { return std::binary_search(kinds_.begin(), kinds_.end(), kind); }

  // Returns an estimate of the work of finding the words of the event, without reading its content; 0 if its kind is
  // not searched.
  Work SplittingWork(EventView event) const;
  // Returns an estimate of the work of saving the event's words, with that of finding them.
  Work SavingWork(EventView event) const;
  // Calls visit(word, density) for each word of the event, in their order. Calls it for none if the kind is not
  // searched.
  template <typename Visit>
  void ForEachWord(EventView event, Visit&& visit) const {
    if (!Searches(event.kind())) return;
    const SearchWords found = WordsOf(ContentOf(event));
    for (const WordCount& each : found.words) visit(each.word, DensityOf(each.times, found.length));
  }

 private:
  const std::vector<uint16_t> kinds_;
};

}  // namespace weir
