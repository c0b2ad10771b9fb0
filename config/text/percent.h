// Percent-encoding, as in the paths of URLs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir {

// Returns nullopt if a % has no two hex digits behind it, or stands for a zero byte (unless takes_zero_bytes). A plus
// stays a plus.
std::optional<std::string> DecodePercent(std::string_view text, bool takes_zero_bytes = false);

// Writes all but letters, digits and -._~ as %XX, slashes too: for a segment of a path.
std::string EncodePercent(std::string_view text);
// Writes all characters as %XX but those for which is_kept is true; it must not be for a %.
std::string EncodePercent(std::string_view text, bool (*is_kept)(char c));

// Decodes a path. Returns nullopt if DecodePercent would, or if it escapes a character that needs no escape: that is a
// second spelling of another path, and a proxy in front of this program may have judged the request by its spelling.
std::optional<std::string> DecodePlainPath(std::string_view raw_path);

}  // namespace weir
