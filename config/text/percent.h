// Encodes and decodes percent escapes (%XX), as in the paths of URLs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir {

// Returns the decoded text. Returns nullopt if a % is not followed by two hexadecimal digits, or if the text has a %00
// and `takes_zero_bytes` is false. A plus stays a plus.
std::optional<std::string> DecodePercent(std::string_view text, bool takes_zero_bytes = false);

// Returns the text with every byte as %XX except letters, digits and -._~; a slash is encoded, too, so the result fits
// into a segment of a path.
std::string EncodePercent(std::string_view text);
// Returns the text with every byte as %XX except those for which `is_kept` returns true. For a % `is_kept` must return
// false.
std::string EncodePercent(std::string_view text, bool (*is_kept)(char c));

// Returns the decoded path. Returns nullopt if DecodePercent would, or if the path escapes a character that needs no
// escape. Such a path is a second spelling of a path, and a proxy in front of this program may have checked the request
// against rules for the usual spelling only.
std::optional<std::string> DecodePlainPath(std::string_view raw_path);

}  // namespace weir
