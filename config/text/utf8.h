#pragma once

#include <cstddef>
#include <string_view>

namespace weir {

// The length of the UTF-8 sequence at the start of the text, or 0 where there is none. The text is not empty.
size_t Utf8Length(std::string_view text);

bool IsUtf8(std::string_view text);

}  // namespace weir
