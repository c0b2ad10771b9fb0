#include "import/moment.h"

#include <charconv>
#include <chrono>
#include <optional>
#include <string>

namespace weir {
namespace {

// All of the text, digits only.
template <typename Number>
std::optional<Number> Digits(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || text.front() == '-' || error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

// 2026-01-31
std::optional<std::chrono::sys_days> Day(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return {};
  const auto year = Digits<int>(text.substr(0, 4));
  const auto month = Digits<unsigned>(text.substr(5, 2));
  const auto day = Digits<unsigned>(text.substr(8, 2));
  if (!year || !month || !day) return {};
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(*month), std::chrono::day(*day)};
  if (!date.ok() || *year < 1970) return {};
  return std::chrono::sys_days(date);
}

// T12:00:00Z
std::optional<std::chrono::seconds> TimeOfDay(std::string_view text) {
  if (text.size() != 10 || text[0] != 'T' || text[3] != ':' || text[6] != ':' || text[9] != 'Z') return {};
  const auto hour = Digits<int>(text.substr(1, 2));
  const auto minute = Digits<int>(text.substr(4, 2));
  const auto second = Digits<int>(text.substr(7, 2));
  if (!hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 59) return {};
  return std::chrono::hours(*hour) + std::chrono::minutes(*minute) + std::chrono::seconds(*second);
}

}  // namespace

Result<uint64_t> ParseMoment(std::string_view text, OfTheDay second) {
  if (const auto seconds = Digits<uint64_t>(text)) return *seconds;
  const auto day = Day(text.substr(0, 10));
  const std::chrono::seconds whole_day =
      second == OfTheDay::kFirst ? std::chrono::seconds(0) : std::chrono::seconds(86'399);
  const auto time = text.size() <= 10 ? whole_day : TimeOfDay(text.substr(10));
  if (!day || !time) {
    return Status::Error("\"" + std::string(text) +
                         "\" is no moment; write seconds since 1970, 2026-01-31 or 2026-01-31T12:00:00Z (UTC)");
  }
  return static_cast<uint64_t>((day->time_since_epoch() + *time) / std::chrono::seconds(1));
}

}  // namespace weir
