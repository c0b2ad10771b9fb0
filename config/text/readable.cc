#include "config/text/readable.h"

#include <array>
#include <chrono>
#include <cinttypes>
#include <cstdio>

#include "config/text/hex.h"
#include "config/text/json_string.h"
#include "config/text/utf8.h"

namespace weir {
namespace {

// Prints three digits of a number that is 1 or more.
std::string ThreeDigits(double number) {
  char text[32];
  const int decimals = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
  std::snprintf(text, sizeof(text), "%.*f", decimals, number);
  return text;
}

// Divides by 1000 until the rounded number is below 1000, four times at most. Returns the number of divisions.
size_t Scale(double* number) {
  size_t scale = 0;
  for (; *number >= 999.5 && scale < 4; ++scale) *number /= 1000;
  return scale;
}

}  // namespace

std::string ShortNumber(uint64_t number) {
  static constexpr std::array<const char*, 5> kUnits = {"", "k", "M", "G", "T"};
  if (number < 1000) return std::to_string(number);
  auto scaled = static_cast<double>(number);
  const size_t scale = Scale(&scaled);
  return ThreeDigits(scaled) + kUnits[scale];
}

std::string ReadableBytes(uint64_t bytes) {
  static constexpr std::array<const char*, 5> kUnits = {" B", " kB", " MB", " GB", " TB"};
  if (bytes < 1000) return std::to_string(bytes) + kUnits[0];
  auto scaled = static_cast<double>(bytes);
  const size_t scale = Scale(&scaled);
  return ThreeDigits(scaled) + kUnits[scale];
}

std::string ShortTime(Duration time) {
  const double ms = ToSeconds(time) * 1000;
  char text[48];
  if (ms < 9.95) {
    std::snprintf(text, sizeof(text), "%.1fms", ms);
  } else if (ms < 999.5) {
    std::snprintf(text, sizeof(text), "%.0fms", ms);
  } else {
    std::snprintf(text, sizeof(text), "%.1fs", ms / 1000);
  }
  return text;
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
