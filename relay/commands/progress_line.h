// A line on a terminal that says how far a command is.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>

#include "config/terminal_size.h"

namespace weir {

// Replaces the line on standard error, or does nothing if no program can draw there. An empty text removes the line.
inline void ShowProgress(const std::string& text) {
  if (CanBeDrawnOn(STDERR_FILENO)) std::fprintf(stderr, "\r%s\033[K", text.c_str());
}

}  // namespace weir
