// Decides whether a request to vanish (NIP-62) is meant for this relay. A request to vanish is an event in which an
// author asks relays to remove all of the author's events. The relay uses this one rule to answer the request and to
// carry it out.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "relay/nostr/event.h"

namespace weir {

// Returns true if two addresses lead to the same relay, as "wss://r.example", "ws://R.example.:443/" and "r.example"
// do. The scheme (ws, wss, http, https or none), the case of the host, the ports 80, 443 and none, a dot at the end of
// the host and slashes at the end of the path make no difference. Addresses with different paths lead to different
// relays; the case of a path makes a difference. Returns false if an address has another scheme or no host.
bool IsSameRelay(std::string_view a, std::string_view b);

// Returns true if a "relay" tag of `request` names one of these addresses, or "ALL_RELAYS". The caller has checked that
// the event is a request to vanish (kind 62).
bool AsksToVanishFrom(EventView request, std::span<const std::string> relays);

}  // namespace weir
