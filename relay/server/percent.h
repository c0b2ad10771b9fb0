// Percent-encoding, as in the paths of URLs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir {

// Nothing where a % has no two hex digits behind it, or stands for a zero byte. A plus is a plus.
std::optional<std::string> DecodePercent(std::string_view text);

}  // namespace weir
