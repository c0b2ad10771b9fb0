// Percent-encoding, as in the paths of URLs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir {

// Nothing where a % has no two hex digits behind it, or stands for a zero byte (unless those are taken). A plus is a
// plus.
std::optional<std::string> DecodePercent(std::string_view text, bool takes_zero_bytes = false);

// All but letters, digits and -._~ as %XX, slashes too: for a segment of a path.
std::string EncodePercent(std::string_view text);
// All but those that are kept; a % must not be.
std::string EncodePercent(std::string_view text, bool (*is_kept)(char c));

// A path, decoded: nothing where it has an escape for a character that needs none, as a second spelling of another path
// would have. Whoever stands in front of this program may have judged the request by its spelling.
std::optional<std::string> DecodePlainPath(std::string_view raw_path);

}  // namespace weir
