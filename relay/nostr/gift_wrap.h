// Decides to whom a gift wrap (NIP-59) belongs. Its author signs it with a key that is then thrown away. So a gift wrap
// belongs to its recipients (its "p" tags) as well as to its author: each of them may delete it, and the relay removes
// it when one of them asks to vanish (NIP-62).
#pragma once

#include <string_view>

#include "relay/nostr/event.h"

namespace weir {

inline constexpr uint16_t kGiftWrapKind = 1059;

// Returns true if `event` is a gift wrap and names `pubkey_hex` as a recipient. `pubkey_hex` is in lower-case
// hexadecimal.
inline bool IsWrappedFor(EventView event, std::string_view pubkey_hex) {
  if (event.kind() != kGiftWrapKind) return false;
  for (const TagView tag : event.tags())
    if (tag.letter == 'p' && tag.value == pubkey_hex) return true;
  return false;
}

// Calls `visit(key)` for each key to which `event` belongs: first its author's, then those of its recipients if the
// event is a gift wrap. A key that the event names more than once is visited more than once. "p" tags without a valid
// key are skipped.
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
