// A filter of a REQ. An event matches if it meets every condition that the filter has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "relay/nostr/event.h"

namespace weir {

struct TagCondition {
  char letter;
  std::vector<std::string> values;  // sorted, each once; any of them may match

  bool operator==(const TagCondition&) const = default;
};

// A condition that is present without values matches nothing; one that is absent matches everything. Lists are sorted,
// each value once.
struct Filter {
  std::optional<std::vector<EventId>> ids;
  std::optional<std::vector<PublicKey>> authors;
  std::optional<std::vector<uint16_t>> kinds;
  std::vector<TagCondition> tags;  // sorted by letter; an event must meet all of them
  uint64_t since = 0;              // both inclusive
  uint64_t until = UINT64_MAX;
  std::optional<uint64_t> limit;  // stored events, newest first

  bool Matches(EventView event) const;
  bool MatchesButTags(EventView event) const;
  // Returns the tag condition with the fewest values. There must be a tag condition.
  const TagCondition& FewestTags() const;
  // Bytes of memory that the filter takes, with the spare capacity of its lists and strings and malloc's own share.
  uint64_t MemoryBytes() const;
  // Returns true if no event can ever match.
  bool MatchesNothing() const;

  bool operator==(const Filter&) const = default;
};

struct FilterLimits {
  size_t max_values = 5000;  // in all lists of a filter together
};

// The error names the field: `unknown field "search"`, `kinds[2] must be …`.
Result<Filter> ParseFilter(std::string_view json, const FilterLimits& limits = {});
std::string ToJson(const Filter& filter);

}  // namespace weir
