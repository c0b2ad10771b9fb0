#include "relay/nostr/canonical.h"

#include <cstring>

#include "config/text/hex.h"
#include "config/text/json_string.h"

namespace weir {
namespace {

void AppendUtf8(uint32_t code, std::string* out) {
  const auto push = [out](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    push(code);
  } else if (code < 0x800) {
    push(0xC0 | code >> 6);
    push(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    push(0xE0 | code >> 12);
    push(0x80 | (code >> 6 & 0x3F));
    push(0x80 | (code & 0x3F));
  } else {
    push(0xF0 | code >> 18);
    push(0x80 | (code >> 12 & 0x3F));
    push(0x80 | (code >> 6 & 0x3F));
    push(0x80 | (code & 0x3F));
  }
}

uint32_t Hex4(const char* at) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 4 | static_cast<uint32_t>(HexDigit(at[i]));
  return value;
}

// Returns the character that the escape at `*at` means, and moves `*at` behind the escape.
uint32_t ReadEscape(const char** at) {
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

// Appends `raw`, and calls `append` with the character of each escape in place of the escape.
template <typename Append>
void ReplaceEscapes(std::string_view raw, std::string* out, Append append) {
  const char* at = raw.data();
  const char* const end = at + raw.size();
  while (at != end) {
    const void* const found = std::memchr(at, '\\', static_cast<size_t>(end - at));
    const char* const escape = found == nullptr ? end : static_cast<const char*>(found);
    out->append(at, escape);
    if (escape == end) return;
    at = escape;
    append(ReadEscape(&at));
  }
}

// Returns the place behind the closing quote of the string that begins at `at`.
const char* StringEnd(const char* at) {
  for (++at; *at != '"'; ++at) {
    if (*at == '\\') ++at;
  }
  return at + 1;
}

}  // namespace

bool HasShortEscape(char c) { return JsonEscapeLetter(c) != 0 && JsonEscapeLetter(c) != 'u'; }

void AppendUnescaped(std::string_view raw, std::string* out) {
  ReplaceEscapes(raw, out, [out](uint32_t code) { AppendUtf8(code, out); });
}

void AppendCanonical(std::string_view json, ControlForm form, std::string* out) {
  const char* at = json.data();
  const char* const end = at + json.size();
  while (at != end) {
    if (*at != '"') {
      if (static_cast<unsigned char>(*at) > ' ') out->push_back(*at);
      ++at;
      continue;
    }
    const char* const string_end = StringEnd(at);
    ReplaceEscapes({at, static_cast<size_t>(string_end - at)}, out, [form, out](uint32_t code) {
      const char letter = code < 0x80 ? JsonEscapeLetter(static_cast<char>(code)) : '\0';
      if (letter != 0 && (letter != 'u' || form == ControlForm::kEscaped)) {
        AppendJsonEscape(static_cast<char>(code), out);
      } else {
        AppendUtf8(code, out);
      }
    });
    at = string_end;
  }
}

}  // namespace weir
