#include "config/text/readable.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <cstdio>

#include "config/text/hex.h"
#include "config/text/json_string.h"
#include "config/text/utf8.h"

namespace weir {
namespace {

using Units = std::array<const char*, 5>;

// Prints three digits and a unit. Divides by 1000 until the rounded number is below 1000, four times at most.
std::string Scaled(uint64_t number, const Units& units) {
  if (number < 1000) return std::to_string(number) + units[0];
  auto scaled = static_cast<double>(number);
  size_t scale = 0;
  for (; scaled >= 999.5 && scale < 4; ++scale) scaled /= 1000;
  return Fixed(scaled, scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0) + units[scale];
}

}  // namespace

std::string Fixed(double number, int decimals) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", decimals, number);
  return text;
}

std::string Percent(double share) { return Fixed(100 * share, share < 0.0995 ? 1 : 0) + " %"; }

std::string ShortNumber(uint64_t number) { return Scaled(number, {"", "k", "M", "G", "T"}); }

std::string ReadableBytes(uint64_t bytes) { return Scaled(bytes, {" B", " kB", " MB", " GB", " TB"}); }

uint64_t AsCount(double number) { return number > 0 ? static_cast<uint64_t>(std::min(number, 9e18)) : 0; }
uint64_t RoundedCount(double number) { return AsCount(std::round(number)); }

std::string ShortTime(Duration time) {
  const double ms = ToSeconds(time) * 1000;
  return ms < 999.5 ? Fixed(ms, ms < 9.95 ? 1 : 0) + "ms" : Fixed(ms / 1000, 1) + "s";
}

std::string ClockTime(Duration time) {
  const int64_t seconds = std::chrono::round<std::chrono::seconds>(time).count();
  char text[48];
  if (seconds < 3600) {
    std::snprintf(text, sizeof(text), "%" PRId64 ":%02" PRId64, seconds / 60, seconds % 60);
  } else {
    std::snprintf(text, sizeof(text), "%" PRId64 ":%02" PRId64 ":%02" PRId64, seconds / 3600, seconds / 60 % 60,
                  seconds % 60);
  }
  return text;
}

std::string AsText(std::string_view bytes) {
  const bool utf8 = IsUtf8(bytes);
  std::string text;
  while (!bytes.empty()) {
    const size_t length = utf8 ? Utf8Length(bytes) : 1;
    const char32_t c = Utf8Character(bytes.substr(0, length));
    if (!IsUnsafeToShow(c) && (utf8 || c < 0x80)) {
      text.append(bytes, 0, length);
    } else if (length == 1) {
      AppendHex(static_cast<unsigned char>(c), &text.append("\\x"));
    } else {
      AppendUnicodeEscape(c, &text);
    }
    bytes.remove_prefix(length);
  }
  return text;
}

}  // namespace weir
