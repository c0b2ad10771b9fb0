#include "relay/nostr/canonical.h"

#include <array>
#include <cstring>

#include "relay/nostr/messages.h"

namespace weir {
namespace {

// The letter after the backslash, 'u' for the other control characters, 0 for what needs no escape.
constexpr std::array<char, 256> EscapeLetters() {
  std::array<char, 256> letters{};
  for (size_t c = 0; c < 0x20; ++c) letters[c] = 'u';
  letters['\b'] = 'b';
  letters['\t'] = 't';
  letters['\n'] = 'n';
  letters['\f'] = 'f';
  letters['\r'] = 'r';
  letters['"'] = '"';
  letters['\\'] = '\\';
  return letters;
}
constexpr std::array<char, 256> kEscapeLetters = EscapeLetters();

char EscapeLetter(char c) { return kEscapeLetters[static_cast<unsigned char>(c)]; }

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

// The character that the escape at `*at` stands for; goes behind it.
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

void AppendEscaped(char c, ControlForm form, std::string* out) {
  const char letter = EscapeLetter(c);
  if (letter == 'u' && form == ControlForm::kVerbatim) {
    out->push_back(c);
    return;
  }
  out->push_back('\\');
  out->push_back(letter);
  if (letter != 'u') return;
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  out->append("00");
  out->push_back(kDigits[byte >> 4]);
  out->push_back(kDigits[byte & 15]);
}

// Appends `raw` with each of its escapes as `append` writes the character.
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

// Past the closing quote of the string that begins at `at`.
const char* StringEnd(const char* at) {
  for (++at; *at != '"'; ++at) {
    if (*at == '\\') ++at;
  }
  return at + 1;
}

}  // namespace

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool HasShortEscape(char c) { return EscapeLetter(c) != 0 && EscapeLetter(c) != 'u'; }

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
      if (code < 0x80 && EscapeLetter(static_cast<char>(code)) != 0) {
        AppendEscaped(static_cast<char>(code), form, out);
      } else {
        AppendUtf8(code, out);
      }
    });
    at = string_end;
  }
}

void AppendJsonString(std::string_view text, std::string* out) {
  out->push_back('"');
  size_t plain = 0;  // where what is not yet written begins
  for (size_t i = 0; i < text.size(); ++i) {
    if (EscapeLetter(text[i]) == 0) continue;
    out->append(text, plain, i - plain);
    AppendEscaped(text[i], ControlForm::kEscaped, out);
    plain = i + 1;
  }
  out->append(text, plain);
  out->push_back('"');
}

}  // namespace weir
