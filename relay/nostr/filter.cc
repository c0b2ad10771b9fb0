#include "relay/nostr/filter.h"

#include <algorithm>
#include <string_view>

#include "config/text/json_string.h"
#include "relay/nostr/messages.h"

namespace weir {
namespace {

constexpr uint64_t kBlockBytes = 24;  // malloc's header of a memory block, and the bytes by which it rounds up
const size_t kInlineText = std::string().capacity();

template <typename List, typename Value>
bool Has(const List& sorted, const Value& value) {
  return std::binary_search(sorted.begin(), sorted.end(), value);
}

bool Meets(EventView event, const TagCondition& condition) {
  for (const TagView tag : event.tags()) {
    if (tag.letter == condition.letter && Has(condition.values, tag.value)) return true;
  }
  return false;
}

void AppendName(std::string_view name, std::string* out) {
  if (out->size() > 1) out->push_back(',');
  AppendJsonString(name, out);
  out->push_back(':');
}

template <typename List, typename AppendValue>
void AppendList(std::string_view name, const List& list, std::string* out, AppendValue append_value) {
  AppendName(name, out);
  char before = '[';
  for (const auto& value : list) {
    out->push_back(before);
    append_value(value);
    before = ',';
  }
  out->append(list.empty() ? "[]" : "]");
}

}  // namespace

bool Filter::MatchesButTags(EventView event) const {
  const uint64_t created_at = event.created_at();
  if (created_at < since || created_at > until) return false;
  if (kinds && !Has(*kinds, event.kind())) return false;
  if (authors && !Has(*authors, event.pubkey())) return false;
  return !ids || Has(*ids, event.id());
}

bool Filter::Matches(EventView event) const {
  return MatchesButTags(event) &&
         std::all_of(tags.begin(), tags.end(), [event](const TagCondition& tag) { return Meets(event, tag); });
}

const TagCondition& Filter::FewestTags() const {
  return *std::min_element(tags.begin(), tags.end(), [](const TagCondition& a, const TagCondition& b) {
    return a.values.size() < b.values.size();
  });
}

uint64_t Filter::MemoryBytes() const {
  const auto list = [](const auto& values) { return kBlockBytes + values.capacity() * sizeof(values[0]); };
  uint64_t bytes = sizeof(Filter);
  if (ids) bytes += list(*ids);
  if (authors) bytes += list(*authors);
  if (kinds) bytes += list(*kinds);
  if (!tags.empty()) bytes += list(tags);
  for (const TagCondition& tag : tags) {
    bytes += list(tag.values);
    for (const std::string& value : tag.values)
      if (value.capacity() > kInlineText) bytes += kBlockBytes + value.capacity();
  }
  if (search && search->capacity() > kInlineText) bytes += kBlockBytes + search->capacity();
  return bytes;
}

bool Filter::MatchesNothing() const {
  return since > until || (ids && ids->empty()) || (authors && authors->empty()) || (kinds && kinds->empty()) ||
         std::any_of(tags.begin(), tags.end(), [](const TagCondition& tag) { return tag.values.empty(); });
}

std::string ToJson(const Filter& filter) {
  std::string json = "{";
  const auto append_hex = [&json](const Bytes32& bytes) { AppendJsonString(ToHex(bytes), &json); };
  const auto append_number = [&json](std::string_view name, uint64_t number) {
    AppendName(name, &json);
    json += std::to_string(number);
  };
  if (filter.ids) AppendList("ids", *filter.ids, &json, append_hex);
  if (filter.authors) AppendList("authors", *filter.authors, &json, append_hex);
  if (filter.kinds) {
    AppendList("kinds", *filter.kinds, &json, [&json](uint16_t kind) { json += std::to_string(kind); });
  }
  for (const TagCondition& tag : filter.tags) {
    AppendList(std::string("#") + tag.letter, tag.values, &json,
               [&json](std::string_view value) { AppendJsonString(value, &json); });
  }
  if (filter.search) {
    AppendName("search", &json);
    AppendJsonString(*filter.search, &json);
  }
  if (filter.since != 0) append_number("since", filter.since);
  if (filter.until != UINT64_MAX) append_number("until", filter.until);
  if (filter.limit) append_number("limit", *filter.limit);
  return json + "}";
}

}  // namespace weir
