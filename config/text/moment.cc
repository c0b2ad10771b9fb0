#include "config/text/moment.h"

#include <charconv>
#include <chrono>
#include <optional>
#include <string>

#include "config/text/rfc3339.h"

namespace weir {
namespace {

// Returns the number, if the whole text is digits.
std::optional<uint64_t> Digits(std::string_view text) {
  uint64_t number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

// Accepts only the forms 2026-01-31 and 2026-01-31T12:00:00Z of RFC 3339, from 1970 on.
std::optional<std::chrono::seconds> Since1970(std::string_view text, OfTheDay second) {
  const bool is_day = text.size() == 10;
  const bool is_time = text.size() == 20 && text[10] == 'T' && text[19] == 'Z' && text.substr(17, 2) != "60";
  if (!is_day && !is_time) return {};
  const std::string_view in_day = second == OfTheDay::kFirst ? "T00:00:00Z" : "T23:59:59Z";
  const auto time = ParseSecond(is_day ? std::string(text).append(in_day) : std::string(text));
  if (!time || time->time_since_epoch() < std::chrono::seconds(0)) return {};
  return time->time_since_epoch();
}

}  // namespace

Result<uint64_t> ParseMoment(std::string_view text, OfTheDay second) {
  if (const auto seconds = Digits(text)) return *seconds;
  if (const auto seconds = Since1970(text, second)) return static_cast<uint64_t>(seconds->count());
  return Status::Error("\"" + std::string(text) +
                       "\" is no moment; write seconds since 1970, 2026-01-31 or 2026-01-31T12:00:00Z (UTC)");
}

}  // namespace weir
