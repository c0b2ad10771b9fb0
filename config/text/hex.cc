#include "config/text/hex.h"

#include <array>

namespace weir {
namespace {

constexpr uint8_t kNoDigit = 16;

// A table, because every event has 256 digits to look up.
constexpr std::array<uint8_t, 256> LowerHexValues() {
  std::array<uint8_t, 256> values{};
  for (size_t c = 0; c < values.size(); ++c) {
    const int digit = c < 'A' || c > 'F' ? HexDigit(static_cast<char>(c)) : -1;
    values[c] = digit < 0 ? kNoDigit : static_cast<uint8_t>(digit);
  }
  return values;
}
constexpr std::array<uint8_t, 256> kLowerHexValues = LowerHexValues();

}  // namespace

std::string ToHex(const uint8_t* bytes, size_t size) {
  std::string hex;
  hex.reserve(size * 2);
  for (size_t i = 0; i < size; ++i) AppendHex(bytes[i], &hex);
  return hex;
}

bool FromHex(std::string_view hex, uint8_t* bytes, size_t size) {
  if (hex.size() != size * 2) return false;
  unsigned seen = 0;
  for (size_t i = 0; i < size; ++i) {
    const unsigned high = kLowerHexValues[static_cast<unsigned char>(hex[2 * i])];
    const unsigned low = kLowerHexValues[static_cast<unsigned char>(hex[2 * i + 1])];
    seen |= high | low;
    bytes[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return (seen & kNoDigit) == 0;
}

}  // namespace weir
