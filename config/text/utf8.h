#pragma once

#include <cstddef>
#include <string_view>

namespace weir {

// The length of the UTF-8 sequence at the start of the text, or 0 where there is none. The text is not empty.
size_t Utf8Length(std::string_view text);

bool IsUtf8(std::string_view text);

// The character of a sequence whose length is Utf8Length's.
char32_t Utf8Character(std::string_view sequence);

// A control (C0, DEL, C1), what ends a line, or what turns the reading order: a terminal that gets it shows something
// else than the text, or does what it says.
bool IsUnsafeToShow(char32_t c);

}  // namespace weir
