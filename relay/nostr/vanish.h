// Which relays a request to vanish (NIP-62) means: one rule for the answer to it and for what is done.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "relay/nostr/event.h"

namespace weir {

// Whether two addresses lead to one relay: "wss://r.example", "ws://R.example.:443/", "r.example". Scheme, case, the
// usual ports, a dot at the host's end and slashes at the path's make no difference; another path is another relay.
bool IsSameRelay(std::string_view a, std::string_view b);

// Whether the request names one of these relays, or all there are.
bool AsksToVanishFrom(EventView request, std::span<const std::string> relays);

}  // namespace weir
