// SearchText: what a client writes into the field "search" of a filter (NIP-50), as the words that an event must have.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "config/status.h"
#include "relay/search/search_words.h"

namespace weir {

inline constexpr size_t kMostSearchBytes = 1024;  // the length of the text
inline constexpr size_t kMostSearchWords = 32;    // the different words of the text
inline constexpr size_t kMostSearches = 4;        // the filters with a search of one request

// Returns the words (search_words.h), sorted, each once; there is at least one. An event matches if its content has all
// of them. Ignores extensions, which are pairs such as `language:en`. An error says what is wrong with the text.
Result<std::vector<uint64_t>> ParseSearch(std::string_view text);
// Returns no words if ParseSearch would return an error.
inline std::vector<uint64_t> WordsOfSearch(std::string_view text) {
  Result<std::vector<uint64_t>> words = ParseSearch(text);
  return words.ok() ? std::move(words).value() : std::vector<uint64_t>();
}

}  // namespace weir
