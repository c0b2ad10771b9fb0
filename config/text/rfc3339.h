// Times as RFC 3339 writes them: read here, and written.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/clock.h"

namespace weir {

// In UTC, the fraction without zeros at its end: "2026-02-20T14:32:01.5Z".
std::string FormatTime(WallTime time);
// Any offset. Nothing where it is no such time, or before 1678 or after 2261.
std::optional<WallTime> ParseTime(std::string_view text);
// The same without its fraction, of the years 0 to 9999.
std::optional<std::chrono::sys_seconds> ParseSecond(std::string_view text);

}  // namespace weir
