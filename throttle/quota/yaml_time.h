// RFC 3339 with nanoseconds, as the published format has its times. Private to the YAML store.
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
// How the format says "never": the zero of the program that it comes from.
inline constexpr std::string_view kNoTime = "0001-01-01T00:00:00Z";

}  // namespace weir
