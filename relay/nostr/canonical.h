// Writes JSON in the canonical form. The id of an event is the hash of such JSON (NIP-01). In the strings of this form
// seven characters are escaped, as \n \" \\ \r \t \b \f. All other characters are written verbatim, except perhaps the
// other control characters:
//
// NIP-01 also writes these control characters verbatim, but implementations differ here. Most events on the network
// come from libraries that write them as an escape such as \u001f (JSON.stringify, go-nostr, serde_json). Other
// libraries hash the bare byte, as NIP-01 says. weir accepts an event if its id is the hash of either form. This is
// safe: two different events never have the same canonical text, even if one is escaped and the other verbatim, so a
// hash fits only one event.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

// How a control character without a short escape is written: as an escape such as \u001f, or as the bare byte.
enum class ControlForm : uint8_t { kEscaped, kVerbatim };

// Appends `json` in canonical form: with its strings in the form above, without white space between tokens, and with
// everything else unchanged. `json` must be valid JSON.
void AppendCanonical(std::string_view json, ControlForm form, std::string* out);

}  // namespace weir
