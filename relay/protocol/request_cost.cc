#include "relay/protocol/request_cost.h"

#include <algorithm>

namespace weir {
namespace {

// The mean event of a public relay has 0.7 KB. Finding the beginning of a range reads an index block of 4 KiB, and
// three of four such blocks are in a cache.
constexpr uint64_t kEventBytes = 700;
constexpr uint64_t kRangeBytes = 1024;

// Estimates of the number of events that match one value of a condition.
constexpr uint64_t kOfId = 1;
constexpr uint64_t kOfAuthorAndReplaceableKind = 1;
constexpr uint64_t kOfAuthorAndKind = 30;
constexpr uint64_t kOfAuthor = 100;
constexpr uint64_t kOfTag = 40;
constexpr uint64_t kOfKind = 20'000;
constexpr uint64_t kOfAll = 100'000;

// For each condition that the chosen index does not check, the store visits this many times as many events.
constexpr uint64_t kVisitsPerExtraCondition = 4;

// A search of usual words looks through some thousand entries of its words, 4 ms of work; the gate is asked again if it
// turns out to be more.
constexpr uint64_t kSearchBytes = 1 << 20;

struct Shape {
  uint64_t ranges = 1;  // the number of ranges of an index
  uint64_t events = 0;  // the number of events in all these ranges
};

uint64_t EventsOfAuthor(const std::vector<uint16_t>& kinds) {
  uint64_t events = 0;
  for (const uint16_t kind : kinds) {
    const bool replaceable = ClassOf(kind) == KindClass::kReplaceable;
    events += replaceable ? kOfAuthorAndReplaceableKind : kOfAuthorAndKind;
  }
  return events;
}

Shape ShapeOf(const Filter& filter) {
  if (filter.ids) return {filter.ids->size(), filter.ids->size() * kOfId};
  if (!filter.tags.empty()) {
    const auto fewest = std::min_element(
        filter.tags.begin(), filter.tags.end(),
        [](const TagCondition& a, const TagCondition& b) { return a.values.size() < b.values.size(); });
    return {fewest->values.size(), fewest->values.size() * kOfTag};
  }
  if (filter.authors) {
    const uint64_t authors = filter.authors->size();
    if (!filter.kinds) return {authors, authors * kOfAuthor};
    return {authors * filter.kinds->size(), authors * EventsOfAuthor(*filter.kinds)};
  }
  if (filter.kinds) return {filter.kinds->size(), filter.kinds->size() * kOfKind};
  return {1, kOfAll};
}

// Counts the conditions that the shape's index does not check. The store has to check these event by event.
uint64_t ExtraConditions(const Filter& filter) {
  if (filter.ids) return 0;
  const uint64_t tags = filter.tags.size();
  return (tags > 1 ? tags - 1 : 0) + (tags > 0 && filter.authors ? 1 : 0);
}

uint64_t BytesOf(const Filter& filter, uint64_t limit) {
  if (filter.MatchesNothing() || limit == 0) return 0;
  if (filter.search) return kSearchBytes;
  const Shape shape = ShapeOf(filter);
  uint64_t visits = std::min(limit, shape.events);
  for (uint64_t i = ExtraConditions(filter); i > 0; --i) visits = std::min(visits * kVisitsPerExtraCondition, kOfAll);
  return visits * kEventBytes + shape.ranges * kRangeBytes;
}

}  // namespace

Cost CostOfRequest(std::span<const Filter> filters, uint64_t default_limit, uint64_t max_limit) {
  Cost cost;
  for (const Filter& filter : filters)
    cost.bytes += BytesOf(filter, std::min(filter.limit.value_or(default_limit), max_limit));
  return cost;
}

Cost CostOfCount(std::span<const Filter> filters) {
  Cost cost;
  for (const Filter& filter : filters) cost.bytes += BytesOf(filter, filter.limit.value_or(UINT64_MAX));
  return cost;
}

}  // namespace weir
