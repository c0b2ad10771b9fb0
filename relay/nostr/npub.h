// Public keys as people write them: 64 hex digits, or an npub, the form of NIP-19 that most clients show.
#pragma once

#include <string>
#include <string_view>

#include "config/status.h"
#include "relay/nostr/event.h"

namespace weir {

// Returns the key of `text`: an npub, or 64 hex digits of either case. The error completes a sentence that begins with
// the text: "is not a public key: …".
Result<PublicKey> ParsePublicKey(std::string_view text);
// Returns the text for an error message or a log: like Printable, but of a secret key only "nsec1…".
std::string PrintableKey(std::string_view text);
// Returns the npub of the key, with 63 characters.
std::string ToNpub(const PublicKey& key);

}  // namespace weir
