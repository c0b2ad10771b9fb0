// Filter: one of the filters of a client's REQ or COUNT (NIP-01). An event matches a filter if it meets all its
// conditions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "relay/nostr/event.h"

namespace weir {

// A condition such as "#e": […] of a filter. An event meets the condition if it has a tag with this letter and one of
// these values.
struct TagCondition {
  char letter;
  std::vector<std::string> values;  // sorted, without repeated values

  bool operator==(const TagCondition&) const = default;
};

// A list that is present but empty matches no event; a list that is absent (nullopt) matches every event. Code that
// makes a Filter must sort its lists and remove repeated values, as ParseFilter does.
struct Filter {
  std::optional<std::vector<EventId>> ids;
  std::optional<std::vector<PublicKey>> authors;
  std::optional<std::vector<uint16_t>> kinds;
  std::vector<TagCondition> tags;     // sorted by letter; an event must meet all of them
  uint64_t since = 0;                 // seconds since 1970, inclusive
  uint64_t until = UINT64_MAX;        // seconds since 1970, inclusive
  std::optional<std::string> search;  // the words that the content must have (NIP-50); matching ignores it
  std::optional<uint64_t> limit;      // the most stored events in an answer (the newest ones); matching ignores it

  bool Matches(EventView event) const;
  // Returns true if `event` meets all conditions other than `tags`.
  bool MatchesButTags(EventView event) const;
  // Returns the tag condition with the fewest values. `tags` must not be empty.
  const TagCondition& FewestTags() const;
  // Returns the bytes of memory that the filter takes, including the spare capacity of its lists and strings and
  // malloc's overhead.
  uint64_t MemoryBytes() const;
  // Returns true if the conditions exclude every event: a list is present but empty, or `since` is after `until`.
  bool MatchesNothing() const;

  bool operator==(const Filter&) const = default;
};

struct FilterLimits {
  size_t max_values = 5000;  // the number of values in all lists of a filter together, including repeated values
  bool search = false;       // false: the field "search" is unknown, because the reader of the filter cannot search
};

// Returns the filter in `json`, or an error if `json` is anything but one valid filter. An error about a field names
// the field: `unknown field "search"`, `kinds[2] must be …`.
Result<Filter> ParseFilter(std::string_view json, const FilterLimits& limits = {});
std::string ToJson(const Filter& filter);

}  // namespace weir
