// Writes strings and JSON in the canonical form, which is the form that NIP-01 hashes: seven characters are written as
// \n \" \\ \r \t \b \f, and every other character stands for itself.
//
// NIP-01 says "verbatim" for a control character without such a short form, but implementations differ. Most events on
// the network come from libraries that write an escape such as \u001f (JSON.stringify, go-nostr, serde_json). Some
// libraries hash the bare byte, as NIP-01 says. weir accepts both forms. This is safe because the two forms never give
// the same text for two different events, so a hash fits only one event.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

// How the canonical form writes a control character without a short form: as \u001f, or as the bare byte.
enum class ControlForm : uint8_t { kEscaped, kVerbatim };

// Returns true if `c` is one of the seven characters that NIP-01 writes as a backslash and one more character.
bool HasShortEscape(char c);

// Appends the text that a JSON string stands for. `raw` is the string between its quotes, as JsonScanner read it
// (JsonString::raw); its escapes must be valid.
void AppendUnescaped(std::string_view raw, std::string* out);

// Appends `json` in canonical form: its strings as described above, no white space between tokens, everything else
// unchanged. `json` must be valid JSON.
void AppendCanonical(std::string_view json, ControlForm form, std::string* out);

}  // namespace weir
