// ModerationDecision: what an administrator has decided about one subject, such as the ban of an author. Decisions
// stand in lists; each list has at most one about a subject.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "config/status.h"
#include "relay/nostr/event.h"

namespace weir {

class JsonWriter;

// A list of decisions; the comment says what the subject of an entry is.
enum class DecisionList : uint8_t {
  kBannedAuthors,     // a public key, 64 hex digits: may not write; events are hidden at once, and removed in pieces
  kAllowedAuthors,    // a public key: may write whatever allow.authors and rates say; restricts no other author
  kBannedEvents,      // an event's id: hidden, removed, and not taken again
  kAllowedEvents,     // an event's id: its reports are answered
  kAllowedKinds,      // a number; if the list has entries, only these kinds may be written
  kDisallowedKinds,   // a number
  kBlockedAddresses,  // an IP address or a network: may neither write nor read
  kRoles,             // a role's id (NIP-43); `detail` is its JSON {"label","description","color","order"}
  kMembers,           // "<public key> <role's id>": the key has the role, and may write as an allowed author may
  kRelayTexts,        // "name", "description" or "icon"; `detail` is the text
};
inline constexpr std::string_view kDecisionListNames[] = {
    "banned_authors",   "allowed_authors",   "banned_events", "allowed_events", "allowed_kinds",
    "disallowed_kinds", "blocked_addresses", "roles",         "members",        "relay_texts"};
inline constexpr size_t kDecisionLists = std::size(kDecisionListNames);

std::string_view NameOf(DecisionList list);
// Returns null if no list has this name.
std::optional<DecisionList> DecisionListOf(std::string_view name);
// Returns the list that must not have the same subject; null if there is none.
std::optional<DecisionList> OppositeOf(DecisionList list);
// Returns the highest number of decisions in the list.
size_t MostDecisionsOf(DecisionList list);

struct ModerationDecision {
  static constexpr size_t kMostReasonBytes = 1024;
  static constexpr size_t kMostDetailBytes = 8192;
  static constexpr size_t kMostByBytes = 256;
  static constexpr size_t kMostRoleIdBytes = 64;

  DecisionList list = DecisionList::kBannedAuthors;
  std::string subject;
  std::string reason;  // why the administrator decided so; may be empty
  std::string detail;  // see DecisionList
  std::string by;      // the administrator: "npub1…", "token", "this machine"
  uint64_t at_seconds = 0;
};

// Returns the subject as the list keeps it: hex in lower case, numbers without zeros before them, and one text for each
// address or network. The error says what is wrong with the subject.
Result<std::string> SubjectFor(DecisionList list, std::string_view subject);
// Puts the subject into the form of SubjectFor, and checks the texts. Does not look at other decisions.
Status Normalize(ModerationDecision* decision);
// Returns the key in the subject of a decision about an author or a member; null for other lists.
std::optional<PublicKey> AuthorOf(const ModerationDecision& decision);

// Appends the decision as an object {"list","subject","reason","detail","by","at"}; empty texts are left out.
void AppendDecision(const ModerationDecision& decision, JsonWriter& json);
// Reads such an object, and normalizes the decision. Unknown members are an error.
Result<ModerationDecision> ReadDecision(std::string_view json);

}  // namespace weir
