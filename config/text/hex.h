// Bytes as hexadecimal digits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

// The value of a digit of either case, or -1.
constexpr int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Appends two lower-case digits.
inline void AppendHex(unsigned char byte, std::string* out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out->push_back(kDigits[byte >> 4]);
  out->push_back(kDigits[byte & 15]);
}

// ToHex writes lower case; FromHex refuses anything else, and any other number of digits than twice `size`.
std::string ToHex(const uint8_t* bytes, size_t size);
inline std::string ToHex(std::string_view bytes) {
  return ToHex(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}
bool FromHex(std::string_view hex, uint8_t* bytes, size_t size);

}  // namespace weir
