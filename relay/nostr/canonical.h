// Strings and JSON in the form that NIP-01 hashes: \n \" \\ \r \t \b \f are written so, every other character as
// itself.
//
// NIP-01 says "verbatim" for a control character without such a short form, and readers differ. The
// implementations that make the network's events write \u001f (JSON.stringify, go-nostr, serde_json); some hash the
// bare byte, as the text says. Both are taken: a hash fits one of them only, and no event of one form has the text of
// an event of the other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

enum class ControlForm : uint8_t { kEscaped, kVerbatim };

// Whether NIP-01 writes this character as a backslash and a letter.
bool HasShortEscape(char c);

// Appends what a string means, given as it was read (JsonString::raw).
void AppendUnescaped(std::string_view raw, std::string* out);

// Appends good JSON in canonical form: strings as above, no white space, all else as it is.
void AppendCanonical(std::string_view json, ControlForm form, std::string* out);

}  // namespace weir
