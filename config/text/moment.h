// A moment as people and programs write it.
#pragma once

#include <cstdint>
#include <string_view>

#include "config/status.h"

namespace weir {

// The second that is meant if a text names only the day.
enum class OfTheDay : uint8_t { kFirst, kLast };

// Returns the seconds since 1970 of "1769817600", "2026-01-31" or "2026-01-31T12:00:00Z"; days and times are UTC.
Result<uint64_t> ParseMoment(std::string_view text, OfTheDay second);

}  // namespace weir
