// Reads and writes times in the format of RFC 3339.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/clock.h"

namespace weir {

// Returns the time in UTC, without zeros at the end of the fraction: "2026-02-20T14:32:01.5Z".
std::string FormatTime(WallTime time);
// Returns the time that `text` names, with any offset from UTC and up to nine digits of a fraction. Second 60 counts as
// the next second. Returns nullopt if the text is not in the format, or if its year in UTC is before 1678 or after
// 2261.
std::optional<WallTime> ParseTime(std::string_view text);
// Returns the same as ParseTime without the fraction, but for the years 0 to 9999.
std::optional<std::chrono::sys_seconds> ParseSecond(std::string_view text);

}  // namespace weir
