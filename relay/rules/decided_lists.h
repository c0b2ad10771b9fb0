// DecidedLists: the lists that administrators change one entry at a time while the relay runs (relay/moderation/).
// RulesInForce asks them before the rules of weir.yaml. A ban is stronger than everything that allows.
//
// Threads: any thread may call any function.
#pragma once

#include <atomic>
#include <memory>
#include <span>

#include "config/mutex.h"
#include "relay/nostr/event.h"
#include "relay/nostr/filter.h"
#include "relay/rules/rules.h"
#include "relay/rules/shared_key_set.h"

namespace weir {

class DecidedLists {
 public:
  // The lists that are exchanged as a whole, because they are short.
  struct Short {
    KindSet allowed_kinds;  // if it is not empty, only these kinds may be written
    KindSet disallowed_kinds;
    AddressSet blocked_addresses;  // clients that may neither write nor read

    bool empty() const { return allowed_kinds.empty() && disallowed_kinds.empty() && blocked_addresses.empty(); }
  };

  SharedKeySet banned_authors;   // may not write; their events are hidden
  SharedKeySet banned_events;    // hidden, and not taken again
  SharedKeySet allowed_authors;  // may write whatever the rules about authors and the rates say
  void Use(Short lists);

  // These decide as the functions of Rules with the same names, each by these lists alone.
  Ruling JudgeEvent(EventView event, const RuleClient& sender) const;
  Ruling JudgeRead(const RuleClient& reader) const;
  bool MaySee(EventView event) const { return !banned_authors.Has(event.pubkey()) && !banned_events.Has(event.id()); }
  bool MayHide(std::span<const Filter> filters) const;
  // Returns true if the author of the event is allowed; of a gift wrap, whose author is used once, its sender.
  bool IsAllowed(EventView event, const RuleClient& sender) const;
  // Returns a number that changes whenever a list changes that hides events or keeps clients from reading.
  uint64_t generation() const { return exchanges_ + banned_authors.changes() + banned_events.changes(); }
  // Returns true if events must meet a condition of these lists.
  bool restricts_writes() const;

 private:
  std::shared_ptr<const Short> ShortLists() const;

  std::atomic<bool> has_short_{false};
  std::atomic<uint64_t> exchanges_{0};  // number of calls of Use
  mutable Mutex mutex_;
  std::shared_ptr<const Short> short_ WEIR_GUARDED_BY(mutex_) = std::make_shared<Short>();
};

}  // namespace weir
