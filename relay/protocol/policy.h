// What this relay takes and whom it shows what: the rules that need nothing but an event, the settings and who asks.
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

// Why the event is refused, with NIP-01's prefix; empty if it is taken. Everything but its signature is judged.
std::string RefusalOfEvent(EventView event, const RelaySettings& settings, const Identity& sender,
                           uint64_t now_seconds);

// Messages between parties: kinds 4, 1059 and 21059.
bool IsPrivate(uint16_t kind);
// Its author, and whom it is addressed to.
bool IsPartyTo(EventView event, const Identity& identity);
// Whether every filter asks for private kinds and nothing else.
bool AsksOnlyForPrivate(std::span<const Filter> filters);
// Whether a client that has not authenticated may want AUTH for these filters, though they are answered without: they
// name a private kind among others. Filters without kinds ask for what is public: a challenge makes browsers ask their
// user, and some clients take no EOSE while one is unanswered.
//
// The filters decide, here and below, never what is stored: else a stranger learned who writes to whom.
bool MayWantAuth(std::span<const Filter> filters);
// Whether events that match may be kept from this one.
bool MayWithhold(std::span<const Filter> filters, const Identity& identity);

// The text in which a client is told that a gate refused it.
std::string RateLimited(const Admission& admission);

// "rate-limited: l0" → "rate-limited".
std::string_view PrefixOf(std::string_view text);

}  // namespace weir
