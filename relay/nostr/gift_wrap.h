// Gift wraps (NIP-59). Their keys are thrown away, so each belongs to those it is for, beside its author: they may
// delete it, and it goes when they vanish.
#pragma once

#include <string_view>

#include "relay/nostr/event.h"

namespace weir {

inline constexpr uint16_t kGiftWrapKind = 1059;

// Whether a gift wrap is for this key, written as hexadecimal.
inline bool IsWrappedFor(EventView event, std::string_view pubkey_hex) {
  if (event.kind() != kGiftWrapKind) return false;
  for (const TagView tag : event.tags())
    if (tag.letter == 'p' && tag.value == pubkey_hex) return true;
  return false;
}

// Visits the keys to which an event belongs: its author's, and of a gift wrap those of its recipients.
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
