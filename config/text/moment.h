// A moment as people and programs write it.
#pragma once

#include <cstdint>
#include <string_view>

#include "config/status.h"

namespace weir {

// Which second of a day is meant where only the day is said.
enum class OfTheDay : uint8_t { kFirst, kLast };

// Seconds since 1970 of "1769817600", "2026-01-31" or "2026-01-31T12:00:00Z"; days and times are UTC.
Result<uint64_t> ParseMoment(std::string_view text, OfTheDay second);

}  // namespace weir
