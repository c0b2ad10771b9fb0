#include "relay/protocol/searches.h"

#include <algorithm>

#include "relay/search/search_text.h"
#include "relay/search/searched_kinds.h"

namespace weir {
namespace {

// The words of a search are found here, for the query, and for new events (live_index.h).
constexpr Work kTimesSplit = 3;

}  // namespace

std::string PrepareSearches(const std::string& search_kinds, Verb verb, std::vector<Filter>* filters) {
  if (std::ranges::none_of(*filters, [](const Filter& filter) { return filter.search.has_value(); })) return "";
  const Result<std::vector<uint16_t>> searched = ParseSearchedKinds(search_kinds);
  if (!searched.ok()) return "error: " + searched.status().message();
  size_t searches = 0;
  for (Filter& filter : *filters) {
    if (!filter.search) continue;
    if (verb != Verb::kReq) return "unsupported: a " + std::string(NameOf(verb)) + " cannot search; ask with a REQ";
    if (++searches > kMostSearches) {
      return "invalid: at most " + std::to_string(kMostSearches) + " filters of a request may have a search";
    }
    if (const auto words = ParseSearch(*filter.search); !words.ok()) return "invalid: " + words.status().message();
    if (!filter.kinds) filter.kinds = searched.value();
    std::erase_if(*filter.kinds, [&searched](uint16_t kind) {
      return !std::binary_search(searched.value().begin(), searched.value().end(), kind);
    });
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
