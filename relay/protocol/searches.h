// Searches: the filters of a request that search the content of events (NIP-50).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "relay/account/work.h"
#include "relay/nostr/filter.h"
#include "relay/nostr/messages.h"

namespace weir {

// Restricts the filters with a search to the kinds that are searched (WEIR_SEARCH_KINDS), which are sorted, for stored
// events and for new ones. Returns the reason to refuse the request, with NIP-01's prefix; empty if there is none: a
// search without words, or with too many, too many searches, a search in a NEG-OPEN, and a search beside other filters
// in a COUNT are refused.
std::string PrepareSearches(const std::vector<uint16_t>& searched_kinds, Verb verb, std::vector<Filter>* filters);
// Returns the most work of finding the words of a request's searches.
Work WorkOfSearches(const std::vector<Filter>& filters);

}  // namespace weir
