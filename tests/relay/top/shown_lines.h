// Lines of a screen, as a terminal of UTF-8 counts them.
#pragma once

#include <clocale>
#include <string>

#include "relay/top/screen.h"

namespace weir {

// The locale knows which characters are wide, and which have no width.
inline void UseUtf8() { std::setlocale(LC_CTYPE, "C.UTF-8"); }

inline size_t ColumnsOf(const std::string& line) { return WidthOf(Shown(line, Charset::kUtf8)); }

}  // namespace weir
