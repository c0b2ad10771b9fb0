// Decides to which keys a gift wrap (NIP-59) belongs. The author signs a gift wrap with a key that is not used again.
// So a gift wrap belongs to its recipients (its "p" tags) as well as to its author: each of them may delete it, and the
// relay removes it when one of them asks to vanish (NIP-62).
#pragma once

#include <string_view>

#include "relay/nostr/event.h"

namespace weir {

inline constexpr uint16_t kGiftWrapKind = 1059;
inline constexpr uint16_t kEphemeralGiftWrapKind = 21059;

// Returns true for gift wraps, stored or ephemeral. Their author's key is used once, so lists that allow authors look
// at the keys that the sender has proved.
inline bool HasThrowAwayAuthor(uint16_t kind) { return kind == kGiftWrapKind || kind == kEphemeralGiftWrapKind; }

// Returns true if `event` is a gift wrap and `pubkey_hex` is one of its recipients. `pubkey_hex` must be in lower-case
// hexadecimal.
inline bool IsWrappedFor(EventView event, std::string_view pubkey_hex) {
  if (event.kind() != kGiftWrapKind) return false;
  for (const TagView tag : event.tags())
    if (tag.letter == 'p' && tag.value == pubkey_hex) return true;
  return false;
}

// Calls `visit(key)` for each key to which `event` belongs: first for its author's key and then, if the event is a gift
// wrap, for the keys of its recipients. If the event names a key several times, visits it several times. Skips "p" tags
// without a valid key.
template <typename Visit>
void ForEachOwner(EventView event, Visit visit) {
  visit(event.pubkey());
  if (event.kind() != kGiftWrapKind) return;
  for (const TagView tag : event.tags()) {
    PublicKey recipient;
    if (tag.letter == 'p' && FromHex(tag.value, recipient.data(), recipient.size())) visit(recipient);
  }
}

}  // namespace weir
