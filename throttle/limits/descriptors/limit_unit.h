// LimitUnit: the length of the window in which hits are counted. The windows of a unit follow each other from
// 1970-01-01T00:00:00Z on, all of the same length; a month always has 30 days and a year 365.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir {

// The numbers are those in the published interface of envoyproxy/ratelimit.
enum class LimitUnit : uint8_t { kPerSecond = 1, kPerMinute, kPerHour, kPerDay, kPerMonth, kPerYear, kPerWeek };

struct LimitUnitRow {
  std::string_view name;  // spelled as in the published interface
  int64_t seconds;
};
// Indexed by the number of the unit.
inline constexpr std::array<LimitUnitRow, 8> kLimitUnits = {{{"UNKNOWN", 0},
                                                             {"SECOND", 1},
                                                             {"MINUTE", 60},
                                                             {"HOUR", 3600},
                                                             {"DAY", 86'400},
                                                             {"MONTH", 30 * 86'400},
                                                             {"YEAR", 365 * 86'400},
                                                             {"WEEK", 7 * 86'400}}};

constexpr std::string_view NameOf(LimitUnit unit) { return kLimitUnits[static_cast<size_t>(unit)].name; }
constexpr int64_t SecondsOf(LimitUnit unit) { return kLimitUnits[static_cast<size_t>(unit)].seconds; }

}  // namespace weir
