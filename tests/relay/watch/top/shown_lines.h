// Divides a screen into lines, with the widths that a UTF-8 terminal uses.
#pragma once

#include <clocale>
#include <string>

#include "relay/watch/top/screen.h"

namespace weir {

// Sets a UTF-8 locale, which defines the characters of double width and of no width.
inline void UseUtf8() { std::setlocale(LC_CTYPE, "C.UTF-8"); }

inline size_t ColumnsOf(const std::string& line) { return WidthOf(Shown(line, Charset::kUtf8)); }

}  // namespace weir
