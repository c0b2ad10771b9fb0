#include "relay/rules/decided_lists.h"

#include <algorithm>
#include <utility>

#include "relay/nostr/gift_wrap.h"

namespace weir {
namespace {

bool HasAnyOf(const SharedKeySet& set, std::span<const PublicKey> keys) {
  return !set.empty() && std::ranges::any_of(keys, [&](const PublicKey& key) { return set.Has(key); });
}

bool IsFrom(const AddressSet& set, const RuleClient& client) { return client.address && set.Has(*client.address); }

}  // namespace

void DecidedLists::Use(Short lists) {
  auto next = std::make_shared<const Short>(std::move(lists));
  has_short_ = !next->empty();
  const MutexLock lock(mutex_);
  ++exchanges_;
  short_.swap(next);  // the lock is released before `next`, which now has the old lists, is destroyed
}

std::shared_ptr<const DecidedLists::Short> DecidedLists::ShortLists() const {
  const MutexLock lock(mutex_);
  return short_;
}

Ruling DecidedLists::JudgeEvent(EventView event, const RuleClient& sender) const {
  if (has_short_) {
    const std::shared_ptr<const Short> lists = ShortLists();
    if (IsFrom(lists->blocked_addresses, sender))
      return {RuleKind::kAddresses, "blocked: this relay's administrators have blocked your address"};
    if (lists->disallowed_kinds.Has(event.kind()))
      return {RuleKind::kKinds, "blocked: this relay's administrators have disallowed events of this kind"};
    if (!lists->allowed_kinds.empty() && !lists->allowed_kinds.Has(event.kind()))
      return {RuleKind::kKinds, "restricted: this relay's administrators allow only events of other kinds"};
  }
  if (banned_authors.Has(event.pubkey()) || HasAnyOf(banned_authors, sender.proved))
    return {RuleKind::kAuthors, "blocked: this author was banned by this relay's administrators"};
  if (banned_events.Has(event.id()))
    return {RuleKind::kEvents, "blocked: this event was banned by this relay's administrators"};
  return {};
}

Ruling DecidedLists::JudgeRead(const RuleClient& reader) const {
  if (!has_short_ || !IsFrom(ShortLists()->blocked_addresses, reader)) return {};
  return {RuleKind::kAddresses, "blocked: this relay's administrators have blocked your address"};
}

bool DecidedLists::MayHide(std::span<const Filter> filters) const {
  if (banned_authors.empty() && banned_events.empty()) return false;
  return std::ranges::any_of(filters, [this](const Filter& filter) {
    const auto author = [this](const PublicKey& key) { return banned_authors.Has(key); };
    const auto event = [this](const EventId& id) { return banned_events.Has(id); };
    const bool by_author = !banned_authors.empty() && (!filter.authors || std::ranges::any_of(*filter.authors, author));
    return by_author || (!banned_events.empty() && (!filter.ids || std::ranges::any_of(*filter.ids, event)));
  });
}

bool DecidedLists::IsAllowed(EventView event, const RuleClient& sender) const {
  if (allowed_authors.empty()) return false;
  return allowed_authors.Has(event.pubkey()) ||
         (HasThrowAwayAuthor(event.kind()) && HasAnyOf(allowed_authors, sender.proved));
}

bool DecidedLists::restricts_writes() const { return has_short_ && !ShortLists()->allowed_kinds.empty(); }

}  // namespace weir
