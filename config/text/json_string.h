// Strings of JSON: \n \" \\ \r \t \b \f are escaped like this, other control characters as \u001f; all else stands as
// it is.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace weir {

// The letter behind the backslash, 'u' for a control character without a letter of its own, 0 if no escape is needed.
constexpr std::array<char, 256> JsonEscapeLetters() {
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
inline constexpr std::array<char, 256> kJsonEscapeLetters = JsonEscapeLetters();

inline char JsonEscapeLetter(char c) { return kJsonEscapeLetters[static_cast<unsigned char>(c)]; }

// Appends the escape of a character that needs one.
void AppendJsonEscape(char c, std::string* out);

// Appends the string with its quotes.
void AppendJsonString(std::string_view text, std::string* out);

// Appends the escape of a character below U+10000, such as "\u202e".
void AppendUnicodeEscape(char32_t c, std::string* out);

// Appends JSON whose strings are UTF-8, with escapes for characters that are unsafe to show (utf8.h). Its meaning stays
// the same.
void AppendSafeJson(std::string_view json, std::string* out);

}  // namespace weir
