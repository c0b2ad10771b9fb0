#include "config/terminal_size.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace weir {

TerminalSize SizeOfTerminal(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return {};
  return {.rows = size.ws_row, .columns = size.ws_col};
}

bool CanBeDrawnOn(int descriptor) {
  const char* term = std::getenv("TERM");
  const std::string_view name = term != nullptr ? term : "";
  return isatty(descriptor) == 1 && !name.empty() && name != "dumb";
}

}  // namespace weir
