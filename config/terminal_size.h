// What is known of a terminal before something is drawn on it.
#pragma once

#include <cstddef>

namespace weir {

struct TerminalSize {
  size_t rows = 24;
  size_t columns = 80;
};
// Of the terminal behind a descriptor; the usual one where that does not say.
TerminalSize SizeOfTerminal(int descriptor);

// Whether it is a terminal, and one that can do more than take lines.
bool CanBeDrawnOn(int descriptor);

}  // namespace weir
