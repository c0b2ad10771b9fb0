#include "relay/protocol/searches.h"

#include <algorithm>

#include "relay/search/search_text.h"

namespace weir {
namespace {

// The words of a search are found here, for the query, and for new events (live_index.h).
constexpr Work kTimesSplit = 3;

}  // namespace

std::string PrepareSearches(const std::vector<uint16_t>& searched_kinds, Verb verb, std::vector<Filter>* filters) {
  size_t searches = 0;
  for (Filter& filter : *filters) {
    if (!filter.search) continue;
    if (verb == Verb::kCount && filters->size() > 1)
      return "unsupported: a COUNT with a search must have no other filter";
    if (verb == Verb::kNegOpen) return "unsupported: a NEG-OPEN cannot search; ask with a REQ";
    if (++searches > kMostSearches) {
      return "invalid: at most " + std::to_string(kMostSearches) + " filters of a request may have a search";
    }
    if (const auto words = ParseSearch(*filter.search); !words.ok()) return "invalid: " + words.status().message();
    if (!filter.kinds) filter.kinds = searched_kinds;
    std::erase_if(*filter.kinds, [&](uint16_t kind) { return !std::ranges::binary_search(searched_kinds, kind); });
  }
  return "";
}

Work WorkOfSearches(const std::vector<Filter>& filters) {
  Work work = 0;
  for (const Filter& filter : filters)
    if (filter.search) work += kTimesSplit * std::min(filter.search->size(), kMostSearchBytes) * kSplitByteWork;
  return work;
}

}  // namespace weir
