// Reads a moment (a point in time, in seconds) from text that a user or a client wrote.
#pragma once

#include <cstdint>
#include <string_view>

#include "config/status.h"

namespace weir {

// Selects the first or the last second of the day, for a text that names only a day.
enum class OfTheDay : uint8_t { kFirst, kLast };

// Returns the seconds since 1970 of a text such as "1769817600", "2026-01-31" or "2026-01-31T12:00:00Z"; days and times
// are UTC. Returns an error for any other form (fractions of a second and other time zones too) and for a date before
// 1970.
Result<uint64_t> ParseMoment(std::string_view text, OfTheDay second);

}  // namespace weir
