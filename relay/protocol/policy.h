// The rules for what this relay accepts and to whom it shows what, as far as they need only an event, the settings and
// the identity of the client.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "relay/nostr/event.h"
#include "relay/nostr/filter.h"
#include "relay/protocol/identity.h"
#include "relay/protocol/relay_settings.h"
#include "throttle/admission.h"

namespace weir {

// Returns why the event is refused, with NIP-01's prefix; empty if it is accepted. Judges everything but its signature.
std::string RefusalOfEvent(EventView event, const RelaySettings& settings, const Identity& sender,
                           uint64_t now_seconds);

// True for messages between parties: kinds 4, 1059 and 21059.
bool IsPrivate(uint16_t kind);
// True for the event's author and the keys that it is addressed to.
bool IsPartyTo(EventView event, const Identity& identity);
// True if every filter asks for private kinds and nothing else.
bool AsksOnlyForPrivate(std::span<const Filter> filters);
// True if a client that has not authenticated may want AUTH for these filters, though they are answered without it:
// they name a private kind among others. Filters without kinds count as asking for public events: a challenge makes
// browsers ask their user, and some clients take no EOSE while one is unanswered.
//
// Here and below the filters decide, never the stored events: otherwise a stranger could learn who writes to whom.
bool MayWantAuth(std::span<const Filter> filters);
// True if matching events may have to be kept from this identity.
bool MayWithhold(std::span<const Filter> filters, const Identity& identity);

// Returns the text that tells a client that a gate refused it.
std::string RateLimited(const Admission& admission);

// Returns the prefix: "rate-limited: l0" → "rate-limited".
std::string_view PrefixOf(std::string_view text);

}  // namespace weir
