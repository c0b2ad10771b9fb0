// Facts about a terminal that a program needs before it draws on it.
#pragma once

#include <cstddef>

namespace weir {

struct TerminalSize {
  size_t rows = 24;
  size_t columns = 80;
};
// Returns the size of the terminal behind a descriptor, or the usual size if it does not tell one.
TerminalSize SizeOfTerminal(int descriptor);

// Returns true for a terminal that can do more than take lines (by TERM).
bool CanBeDrawnOn(int descriptor);

}  // namespace weir
