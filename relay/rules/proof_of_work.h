// Checks the proof of work of an event (NIP-13).
#pragma once

#include <cstdint>
#include <string>

#include "relay/nostr/event.h"

namespace weir {

// Returns the reason to refuse an event whose id must begin with at least `least` zero bits, with NIP-01's prefix
// "pow:"; empty if the event has this proof of work. If a nonce tag names the target difficulty, the target must not be
// lower either.
std::string RefusalOfWork(EventView event, uint64_t least);

}  // namespace weir
