// When an event is no more (NIP-40); one rule for those who take, keep, find and deliver events.
#pragma once

#include <cstdint>

#include "relay/nostr/event.h"

namespace weir {

// The moment to expire is the first at which it is no more.
inline bool IsExpired(EventView event, uint64_t now_seconds) {
  return event.expiration() != 0 && event.expiration() <= now_seconds;
}

}  // namespace weir
