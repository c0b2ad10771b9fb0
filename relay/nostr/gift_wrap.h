// Gift wraps (NIP-59). Their keys are thrown away, so a gift wrap belongs to its recipients as well as to its author:
// they may delete it, and it is removed when they vanish.
#pragma once

#include <string_view>

#include "relay/nostr/event.h"

namespace weir {

inline constexpr uint16_t kGiftWrapKind = 1059;

// Returns true if a gift wrap is for this key, given in hexadecimal.
inline bool IsWrappedFor(EventView event, std::string_view pubkey_hex) {
  if (event.kind() != kGiftWrapKind) return false;
  for (const TagView tag : event.tags())
    if (tag.letter == 'p' && tag.value == pubkey_hex) return true;
  return false;
}

// Visits the keys to which an event belongs: its author's, and those of its recipients if it is a gift wrap.
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
