// Reads and writes times in the format of RFC 3339.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/clock.h"

namespace weir {

// Returns the time in UTC, without zeros at the end of the fraction: "2026-02-20T14:32:01.5Z".
std::string FormatTime(WallTime time);
// Returns the time that `text` states. The text may have any offset from UTC, and a fraction of up to nine digits.
// Second 60 counts as the next second. Returns nullopt if the text is not in the format, or if its year in UTC is
// before 1678 or after 2261.
std::optional<WallTime> ParseTime(std::string_view text);
// Does the same for the years 0 to 9999, but drops the fraction.
std::optional<std::chrono::sys_seconds> ParseSecond(std::string_view text);

}  // namespace weir
