// When an event has expired (NIP-40): one rule for taking, keeping, finding and delivering events.
#pragma once

#include <cstdint>

#include "relay/nostr/event.h"

namespace weir {

// An event counts as expired from the second that its tag names.
inline bool IsExpired(EventView event, uint64_t now_seconds) {
  return event.expiration() != 0 && event.expiration() <= now_seconds;
}

}  // namespace weir
