// RetentionRules: the operator's rules about what the relay keeps and how long. The sweeper (relay/retention/) carries
// them out: it removes the events that a rule of `remove` names, and never those that a rule of `keep` names.
//
// Age is the time since created_at, as clients and NIP-11 understand it. An author who dates an event back only loses
// the event earlier.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "relay/nostr/event.h"
#include "relay/nostr/filter.h"
#include "relay/rules/key_set.h"
#include "relay/rules/kind_set.h"
#include "relay/rules/rung.h"

namespace weir {

// A rule is about the events that meet all of its conditions.
struct RetentionRule {
  KindSet kinds = KindSet::All();
  KeySet authors;                            // empty: all authors
  std::optional<Rung> from = std::nullopt;   // only authors on this rung of the trust ladder or above; in `keep`
  std::optional<Rung> below = std::nullopt;  // only authors below this rung; in `remove`
  uint64_t older_than_s = 0;                 // seconds since created_at; in `remove`

  bool asks_for_standing() const { return from || below; }
  // Returns true if the rule names neither kinds nor authors nor a rung.
  bool is_about_all() const { return kinds == KindSet::All() && authors.empty() && !asks_for_standing(); }
  // Returns true if the event meets all conditions but the age.
  bool IsAbout(EventView event, Rung rung) const;
  bool IsOld(EventView event, uint64_t now_seconds) const {
    return event.created_at() <= now_seconds && now_seconds - event.created_at() >= older_than_s;
  }
  // Returns a filter that finds every event which the rule removes at this time. It may find others.
  Filter Candidates(uint64_t now_seconds) const;
};

struct RetentionRules {
  std::vector<RetentionRule> keep;    // their events are never removed, neither for their age nor for the disk budget
  std::vector<RetentionRule> remove;  // their events are removed once they are old

  bool empty() const { return keep.empty() && remove.empty(); }
  // Returns true if a rule asks for the rung of an author.
  bool AsksForStanding() const;
  // Returns the first rule that keeps the event of an author on this rung; nullopt if none does.
  std::optional<size_t> KeptBy(EventView event, Rung rung) const;
  // Returns the first rule that removes the event now; nullopt if none does, or if one keeps it.
  std::optional<size_t> RemovedBy(EventView event, Rung rung, uint64_t now_seconds) const;
  // Returns a sentence about the event, for a person who asks: "relay.retention.remove[0]: removed when it is 30 days
  // old, in 2 days 1 h".
  std::string Explain(EventView event, Rung rung, uint64_t now_seconds) const;
};

// Returns the names of rules in messages: relay.retention.keep[0], relay.retention.remove[0].
std::string NameOfKeep(size_t index);
std::string NameOfRemove(size_t index);

// A statement of NIP-11 about events of some kinds.
struct RetentionTerm {
  KindSet kinds;
  std::optional<uint64_t> seconds;  // the age at which they are removed; nullopt: they are kept
};
// Returns what a client can rely on: rules for listed authors do not count, and a rule for authors below a rung counts
// for all, because a client does not know its rung.
std::vector<RetentionTerm> TermsOf(const RetentionRules& rules);

}  // namespace weir
