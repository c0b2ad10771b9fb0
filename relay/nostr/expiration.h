// Decides whether an event has expired (NIP-40). The relay uses this one rule when it accepts, stores, finds and
// delivers events.
#pragma once

#include <cstdint>

#include "relay/nostr/event.h"

namespace weir {

// Returns true from the second that the event's expiration tag names; always false for an event without a valid tag.
// `now_seconds` counts from 1970.
inline bool IsExpired(EventView event, uint64_t now_seconds) {
  return event.expiration() != 0 && event.expiration() <= now_seconds;
}

}  // namespace weir
