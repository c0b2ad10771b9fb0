// Reads and writes bytes as hexadecimal digits, and recognises decimal digits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Returns the value of a hexadecimal digit of either case, or -1 if `c` is not one.
constexpr int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Appends `byte` as two lower-case digits.
inline void AppendHex(unsigned char byte, std::string* out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out->push_back(kDigits[byte >> 4]);
  out->push_back(kDigits[byte & 15]);
}

// Returns the bytes as lower-case digits, two for each byte.
std::string ToHex(const uint8_t* bytes, size_t size);
inline std::string ToHex(std::string_view bytes) {
  return ToHex(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}
// Decodes `hex` into the `size` bytes at `bytes` and returns true. If `hex` is not exactly 2 * `size` lower-case
// digits, returns false and leaves the content of `bytes` undefined.
bool FromHex(std::string_view hex, uint8_t* bytes, size_t size);

}  // namespace weir
