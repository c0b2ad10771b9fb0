// Reads and writes times as RFC 3339 has them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/clock.h"

namespace weir {

// Writes UTC, the fraction without zeros at its end: "2026-02-20T14:32:01.5Z".
std::string FormatTime(WallTime time);
// Accepts any offset. Returns nullopt if the text is no such time, or before 1678 or after 2261.
std::optional<WallTime> ParseTime(std::string_view text);
// The same without its fraction, for the years 0 to 9999.
std::optional<std::chrono::sys_seconds> ParseSecond(std::string_view text);

}  // namespace weir
