// Checks and decodes UTF-8, and finds characters that are unsafe to print.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weir {

// Returns the length in bytes of the UTF-8 sequence at the start of the text, or 0 if the text does not begin with a
// valid one. The text must not be empty.
size_t Utf8Length(std::string_view text);

bool IsUtf8(std::string_view text);

// Returns the character of one sequence, which has the length that Utf8Length returned.
char32_t Utf8Character(std::string_view sequence);

// These two take UTF-8, and count each byte that does not continue a character. CharactersIn returns the number of
// characters: the columns that the text takes on a terminal, if each character takes one. FirstCharacters returns the
// beginning of the text, at most `count` characters.
size_t CharactersIn(std::string_view text);
std::string_view FirstCharacters(std::string_view text, size_t count);

// Appends a character as UTF-8.
void AppendUtf8(char32_t c, std::string* out);

// Returns true for a control character (C0, DEL, C1), a line or paragraph separator, or a character that changes the
// direction of writing. A terminal would execute such a character, or show something other than the text.
bool IsUnsafeToShow(char32_t c);

}  // namespace weir
