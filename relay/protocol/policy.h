// Decides which events this relay accepts, and which clients may see an event. The rules here depend only on an event
// or filters, on the settings, on the time, and on the keys that the client has proved (identity.h).
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

// The reason to refuse each event of a client without AUTH, if RelaySettings::auth_required is true.
inline constexpr const char* kEventNeedsAuth = "auth-required: this relay takes events only from authenticated clients";

// Returns the reason to refuse the event, with NIP-01's prefix; empty if the rules accept it. Refuses the kind of AUTH,
// and checks the event's times, the tag ["-"] (NIP-70), reposts, requests to vanish (NIP-62) and proof of work
// (NIP-13). Does not check the signature, nor whether the event is stored already.
std::string RefusalOfEvent(EventView event, const RelaySettings& settings, const Identity& sender,
                           uint64_t now_seconds);

// Returns true for the kinds of private events: direct messages (4) and gift wraps (1059, 21059). Unless
// RelaySettings::auth is false, only the parties of a private event, its author and its recipients, may see it.
bool IsPrivate(uint16_t kind);
// Returns true if a key of `identity` is the event's author or is named in one of its "p" tags.
bool IsPartyTo(EventView event, const Identity& identity);
// Returns true if every filter names kinds, and only private ones.
bool AsksOnlyForPrivate(std::span<const Filter> filters);
// Returns true if the relay should ask a client without AUTH for AUTH before it answers, because a filter that can
// match events names a private kind, perhaps with other kinds. Ignores filters without kinds: a challenge makes
// browsers ask their user, and some clients ignore an EOSE while a challenge is unanswered.
//
// This function and MayWithhold never use stored events. Otherwise a stranger could learn which keys write to each
// other.
bool MayWantAuth(std::span<const Filter> filters);
// Returns true if the filters can match private events of which no key of `identity` is a party. The relay then may
// have to leave events out of its answer.
bool MayWithhold(std::span<const Filter> filters, const Identity& identity);

// Returns the reason to send to a client whose work a gate has refused: "rate-limited: …; try again in 2 s".
std::string RateLimited(const Admission& admission);

// Returns the part of `text` before its first colon: "rate-limited" for "rate-limited: l0". Returns the whole `text` if
// it has no colon.
std::string_view PrefixOf(std::string_view text);

}  // namespace weir
