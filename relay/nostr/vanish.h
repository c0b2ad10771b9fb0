// Decides whether a request to vanish (NIP-62) is meant for this relay. A request to vanish is an event by which an
// author asks relays to remove all of the author's events. The relay uses this rule both when it answers the request
// and when it removes the events.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "relay/nostr/event.h"

namespace weir {

inline constexpr uint16_t kVanishKind = 62;

// Returns true if two addresses lead to the same relay, such as "wss://r.example", "ws://R.example.:443/" and
// "r.example". Ignores the scheme (ws, wss, http, https or none), the case of the host, the ports 80 and 443, which
// count as no port, a dot at the end of the host, and slashes at the end of the path. Addresses with different paths
// lead to different relays; paths are case-sensitive. Returns false if an address has another scheme or no host.
bool IsSameRelay(std::string_view a, std::string_view b);

// Returns true if a "relay" tag of `request` names one of the addresses in `relays`, or "ALL_RELAYS". `request` must be
// a request to vanish (kVanishKind).
bool AsksToVanishFrom(EventView request, std::span<const std::string> relays);

}  // namespace weir
