#include "relay/server/percent.h"

namespace weir {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::optional<std::string> DecodePercent(std::string_view text) {
  std::string decoded;
  for (size_t n = 0; n < text.size(); ++n) {
    if (text[n] != '%') {
      decoded += text[n];
      continue;
    }
    if (n + 2 >= text.size()) return std::nullopt;
    const int high = HexDigit(text[n + 1]);
    const int low = HexDigit(text[n + 2]);
    if (high < 0 || low < 0 || (high == 0 && low == 0)) return std::nullopt;
    decoded += static_cast<char>(high << 4 | low);
    n += 2;
  }
  return decoded;
}

}  // namespace weir
