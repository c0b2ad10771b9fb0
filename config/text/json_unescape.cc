#include "config/text/json_unescape.h"

#include <cstdint>

#include "config/text/hex.h"
#include "config/text/utf8.h"

namespace weir {
namespace {

uint32_t Hex4(const char* at) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 4 | static_cast<uint32_t>(HexDigit(at[i]));
  return value;
}

}  // namespace

char32_t ReadJsonEscape(const char** at) {
  const char letter = (*at)[1];
  if (letter != 'u') {
    *at += 2;
    switch (letter) {
      case 'b':
        return '\b';
      case 'f':
        return '\f';
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      default:
        return static_cast<unsigned char>(letter);
    }
  }
  const uint32_t code = Hex4(*at + 2);
  *at += 6;
  if (code < 0xD800 || code > 0xDBFF) return code;
  const uint32_t low = Hex4(*at + 2);
  *at += 6;
  return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
}

void AppendUnescaped(std::string_view raw, std::string* out) {
  ReplaceEscapes(raw, out, [out](char32_t c) { AppendUtf8(c, out); });
}

}  // namespace weir
