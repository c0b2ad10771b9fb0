// Decides which events this relay accepts, and which clients may see an event. The rules here need only an event or a
// filter, the settings, and the keys that the client has proved (identity.h).
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

// Returns why the event is refused, with NIP-01's prefix; empty if the rules accept it. Checks its kind, its times, the
// tag ["-"] (NIP-70), reposts, requests to vanish (NIP-62) and proof of work (NIP-13). Does not check its signature,
// nor whether it is stored already.
std::string RefusalOfEvent(EventView event, const RelaySettings& settings, const Identity& sender,
                           uint64_t now_seconds);

// Returns true for the private kinds, which only their parties may see: direct messages (4) and gift wraps (1059,
// 21059).
bool IsPrivate(uint16_t kind);
// Returns true if a key of `identity` is the event's author or is named in one of its "p" tags.
bool IsPartyTo(EventView event, const Identity& identity);
// Returns true if every filter names kinds, and all of them are private.
bool AsksOnlyForPrivate(std::span<const Filter> filters);
// Returns true if a client without AUTH should be asked for it before its answer: a filter that can match events names
// a private kind, perhaps among others. A filter without kinds does not count, because a challenge makes browsers ask
// their user, and some clients ignore an EOSE while a challenge is unanswered.
//
// This function and MayWithhold look at the filters only, never at stored events. Otherwise a stranger could learn who
// writes to whom.
bool MayWantAuth(std::span<const Filter> filters);
// Returns true if some matching events may be private ones to which `identity` is no party, so that the relay leaves
// them out.
bool MayWithhold(std::span<const Filter> filters, const Identity& identity);

// Returns the reason for a client whose work a gate refused: "rate-limited: …; try again in 2 s".
std::string RateLimited(const Admission& admission);

// Returns the part of `text` before the first colon: "rate-limited" for "rate-limited: l0". Returns all of `text` if it
// has no colon.
std::string_view PrefixOf(std::string_view text);

}  // namespace weir
