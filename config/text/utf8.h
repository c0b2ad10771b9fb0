#pragma once

#include <cstddef>
#include <string_view>

namespace weir {

// Returns the length of the UTF-8 sequence at the start of the text, or 0 if there is none. The text must not be empty.
size_t Utf8Length(std::string_view text);

bool IsUtf8(std::string_view text);

// Returns the character of one sequence, which has the length that Utf8Length returned.
char32_t Utf8Character(std::string_view sequence);

// Returns true for a control character (C0, DEL, C1), a line end, or a character that turns the reading order: a
// terminal that gets it shows something other than the text, or obeys it.
bool IsUnsafeToShow(char32_t c);

}  // namespace weir
