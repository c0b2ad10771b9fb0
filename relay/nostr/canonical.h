// Strings and JSON in the form that NIP-01 hashes: seven characters as \n \" \\ \r \t \b \f, every other character as
// itself.
//
// NIP-01 says "verbatim" for a control character without such a short form, and implementations differ. Those that make
// the network's events write \u001f (JSON.stringify, go-nostr, serde_json); some hash the bare byte, as the text says.
// weir accepts both: a hash fits only one of them, and no event of one form has the text of an event of the other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

enum class ControlForm : uint8_t { kEscaped, kVerbatim };

// Returns true if NIP-01 writes this character as a backslash and a letter.
bool HasShortEscape(char c);

// Appends the text that a string stands for; `raw` is the string as it was read (JsonString::raw).
void AppendUnescaped(std::string_view raw, std::string* out);

// Appends valid JSON in canonical form: strings as above, no white space, everything else unchanged.
void AppendCanonical(std::string_view json, ControlForm form, std::string* out);

}  // namespace weir
