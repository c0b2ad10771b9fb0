#include "tests/store/model_store.h"

#include <algorithm>
#include <optional>

namespace weir {
namespace {

constexpr uint16_t kDeletion = 5;
constexpr uint16_t kVanish = 62;
constexpr uint16_t kGiftWrap = 1059;

bool IsReplaceable(uint16_t kind) { return kind == 0 || kind == 3 || (kind >= 10000 && kind < 20000); }
bool IsAddressable(uint16_t kind) { return kind >= 30000 && kind < 40000; }

// kind:author:d of what is replaced by newer versions; nothing for other events.
std::optional<std::string> AddressOf(const PlainEvent& event) {
  const std::string prefix = std::to_string(event.kind) + ":" + event.pubkey + ":";
  if (IsReplaceable(event.kind)) return prefix;
  if (!IsAddressable(event.kind)) return std::nullopt;
  const std::string* d = event.FirstTag("d");
  return prefix + (d != nullptr ? *d : "");
}

// "In case of replaceable events with the same timestamp, the event with the lowest id should be retained."
bool ComesFirst(const PlainEvent& a, const PlainEvent& b) {
  return a.created_at != b.created_at ? a.created_at > b.created_at : a.id < b.id;
}

bool IsExpired(const PlainEvent& event, uint64_t now_seconds) {
  const std::string* expiration = event.FirstTag("expiration");
  return expiration != nullptr && std::stoull(*expiration) <= now_seconds;
}

bool HasTag(const PlainEvent& event, const std::string& name, const std::string& value) {
  return std::ranges::any_of(event.tags,
                             [&](const Tag& tag) { return tag.size() >= 2 && tag[0] == name && tag[1] == value; });
}

// "Everything from the author until then", and gift wraps for them.
bool VanishesWith(const PlainEvent& event, const std::string& author, uint64_t until) {
  if (event.created_at > until) return false;
  return event.pubkey == author || (event.kind == kGiftWrap && HasTag(event, "p", author));
}

template <typename Values>
bool Contains(const Values& values, const std::string& hex) {
  return std::ranges::any_of(values, [&](const Bytes32& value) { return ToHex(value) == hex; });
}

}  // namespace

bool ModelMatches(const Filter& filter, const PlainEvent& event) {
  if (filter.ids && !Contains(*filter.ids, event.id)) return false;
  if (filter.authors && !Contains(*filter.authors, event.pubkey)) return false;
  if (filter.kinds && std::ranges::count(*filter.kinds, event.kind) == 0) return false;
  if (event.created_at < filter.since || event.created_at > filter.until) return false;
  return std::ranges::all_of(filter.tags, [&](const TagCondition& condition) {
    return std::ranges::any_of(condition.values, [&](const std::string& value) {
      return HasTag(event, std::string(1, condition.letter), value);
    });
  });
}

SaveOutcome ModelStore::Save(const PlainEvent& event, uint64_t now_seconds) {
  if (Has(event.id)) return SaveOutcome::kDuplicate;
  if (IsExpired(event, now_seconds)) return SaveOutcome::kExpired;
  if (IsVanished(event)) return SaveOutcome::kVanished;
  if (IsDeleted(event)) return SaveOutcome::kDeleted;
  if (const auto address = AddressOf(event)) {
    const auto same = [&](const PlainEvent& other) { return AddressOf(other) == address; };
    const auto existing = std::ranges::find_if(events_, same);
    if (existing != events_.end() && ComesFirst(*existing, event)) return SaveOutcome::kSuperseded;
    std::erase_if(events_, same);
  }
  if (event.kind == kDeletion) ApplyDeletion(event);
  if (event.kind == kVanish) ApplyVanish(event);
  events_.push_back(event);
  return SaveOutcome::kSaved;
}

bool ModelStore::IsVanished(const PlainEvent& event) const {
  return std::ranges::any_of(vanished_, [&](const auto& mark) { return VanishesWith(event, mark.first, mark.second); });
}

bool ModelStore::IsDeleted(const PlainEvent& event) const {
  // "Publishing a deletion request event against a deletion request has no effect", nor against a request to vanish.
  if (event.kind == kDeletion || event.kind == kVanish) return false;
  if (deleted_ids_.contains({event.id, event.pubkey})) return true;
  const auto address = AddressOf(event);
  const auto mark = address ? deleted_addresses_.find(*address) : deleted_addresses_.end();
  return mark != deleted_addresses_.end() && event.created_at <= mark->second;
}

void ModelStore::ApplyDeletion(const PlainEvent& request) {
  for (const Tag& tag : request.tags) {
    if (tag.size() < 2) continue;
    if (tag[0] == "e") deleted_ids_.insert({tag[1], request.pubkey});
    if (tag[0] == "a" && tag[1].find(":" + request.pubkey + ":") != std::string::npos) {
      uint64_t& until = deleted_addresses_[tag[1]];
      until = std::max(until, request.created_at);
    }
  }
  std::erase_if(events_, [this](const PlainEvent& event) { return IsDeleted(event); });
}

void ModelStore::ApplyVanish(const PlainEvent& request) {
  const bool named = HasTag(request, "relay", "ALL_RELAYS") ||
                     std::ranges::any_of(own_urls_, [&](const auto& url) { return HasTag(request, "relay", url); });
  if (!named) return;
  uint64_t& until = vanished_[request.pubkey];
  until = std::max(until, request.created_at);
  // Not the request itself, which is saved after this: "relays may store it for bookkeeping".
  std::erase_if(events_, [&](const PlainEvent& event) { return VanishesWith(event, request.pubkey, until); });
}

bool ModelStore::Has(const std::string& id) const {
  return std::ranges::any_of(events_, [&](const PlainEvent& event) { return event.id == id; });
}

bool ModelStore::Delete(const std::string& id) {
  return std::erase_if(events_, [&](const PlainEvent& event) { return event.id == id; }) > 0;
}

size_t ModelStore::SweepExpired(uint64_t now_seconds) {
  return std::erase_if(events_, [=](const PlainEvent& event) { return IsExpired(event, now_seconds); });
}

ModelAnswer ModelStore::Find(const std::vector<Filter>& filters, const ModelQuery& query) const {
  std::vector<const PlainEvent*> sorted;
  for (const PlainEvent& event : events_)
    if (!IsExpired(event, query.now_seconds) && (!query.visible || query.visible(event))) sorted.push_back(&event);
  std::ranges::sort(sorted, [](const PlainEvent* a, const PlainEvent* b) { return ComesFirst(*a, *b); });
  std::set<std::string> chosen;
  std::set<std::string> matching;
  for (const Filter& filter : filters) {
    uint64_t left = std::min(filter.limit.value_or(query.default_limit), query.max_limit);
    for (const PlainEvent* event : sorted) {
      if (!ModelMatches(filter, *event)) continue;
      matching.insert(event->id);
      if (left == 0) continue;
      --left;
      chosen.insert(event->id);
    }
  }
  ModelAnswer answer;
  for (const PlainEvent* event : sorted)
    if (chosen.contains(event->id)) answer.ids.push_back(event->id);
  answer.complete = chosen == matching;
  return answer;
}

}  // namespace weir
