// A line on a terminal that says how far a command is.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>

namespace weir {

// Replaces the line on standard error, or does nothing if that is no terminal. An empty text removes the line.
inline void ShowProgress(const std::string& text) {
  if (isatty(STDERR_FILENO) == 1) std::fprintf(stderr, "\r%s\033[K", text.c_str());
}

}  // namespace weir
