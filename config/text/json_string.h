// Writes strings as JSON. A newline, quotation mark, backslash, carriage return, tab, backspace and form feed become \n
// \" \\ \r \t \b \f. Other characters below U+0020 become escapes such as \u001f. All other bytes stay unchanged.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace weir {

// Returns a table with an entry for each character. The entry is the letter behind the backslash of the character's
// escape, 'u' for a control character that has no letter of its own, or 0 if the character needs no escape.
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

// Appends the escape of `c`, for which JsonEscapeLetter must not be 0.
void AppendJsonEscape(char c, std::string* out);

// Appends `text` as a JSON string: with its quotes and its escapes.
void AppendJsonString(std::string_view text, std::string* out);

// Returns `text` as a JSON string.
std::string QuotedJson(std::string_view text);

// Appends the escape of a character below U+10000, such as "\u202e".
void AppendUnicodeEscape(char32_t c, std::string* out);

// Appends `json`, which must be valid JSON, with escapes in place of the characters from U+007F on that are unsafe to
// show (IsUnsafeToShow in utf8.h). The meaning of the JSON stays the same.
void AppendSafeJson(std::string_view json, std::string* out);

}  // namespace weir
