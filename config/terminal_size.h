// Says how large a terminal is, and whether a program can draw on it.
#pragma once

#include <cstddef>

namespace weir {

struct TerminalSize {
  size_t rows = 24;
  size_t columns = 80;
};
// Returns the size of the terminal behind `descriptor`, or 24 rows of 80 columns if it is no terminal or its size is
// not known.
TerminalSize SizeOfTerminal(int descriptor);

// Returns true if `descriptor` is a terminal and TERM says that a program can move its cursor: TERM is set, and not to
// "dumb".
bool CanBeDrawnOn(int descriptor);

}  // namespace weir
