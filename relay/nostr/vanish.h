// Decides which relays a request to vanish (NIP-62) names: one rule for answering the request and for acting on it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "relay/nostr/event.h"

namespace weir {

// Returns true if two addresses lead to one relay: "wss://r.example", "ws://R.example.:443/", "r.example". Scheme,
// case, the usual ports, a dot at the end of the host and slashes at the end of the path make no difference; a
// different path is a different relay.
bool IsSameRelay(std::string_view a, std::string_view b);

// Returns true if the request names one of these relays, or all relays.
bool AsksToVanishFrom(EventView request, std::span<const std::string> relays);

}  // namespace weir
