// Decides whether an event has expired (NIP-40). The relay uses this rule whenever it accepts, stores, finds or
// delivers an event.
#pragma once

#include <cstdint>

#include "relay/nostr/event.h"

namespace weir {

// Returns true if `now_seconds` is at or after the time in the event's expiration tag. Returns false if the event has
// no valid expiration tag. `now_seconds` counts from 1970.
inline bool IsExpired(EventView event, uint64_t now_seconds) {
  return event.expiration() != 0 && event.expiration() <= now_seconds;
}

}  // namespace weir
