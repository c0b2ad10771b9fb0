// RawTerminal: standard output, which `weir top` writes to. After Enter it is the terminal's other screen, without a
// cursor, and keys come as they are typed. Leave, or the destructor, restores everything.
#pragma once

#include <termios.h>

#include <optional>
#include <string_view>

#include "config/status.h"
#include "config/terminal_size.h"
#include "relay/top/screen.h"

namespace weir {

class RawTerminal {
 public:
  // True if standard output can be drawn on.
  static bool IsThere();
  // Returns the terminal's size, limited to what can be drawn each second.
  static TerminalSize SizeNow();
  // True if the terminal shows colours and the user wants them (https://no-color.org).
  static bool HasColours();
  // Returns the charset of the locale, which this sets from the environment.
  static Charset CharsetOfLocale();

  ~RawTerminal() { Leave(); }

  // A second call undoes what other programs did to the terminal.
  void Enter();
  void Leave();

 private:
  std::optional<termios> before_;  // the state of standard input, if that is a terminal
  bool entered_ = false;
};

enum class Written : uint8_t { kAll, kInterrupted, kNobodyReads };
// Waits until standard output takes all of it, or there is something to read from `interrupt`. The error says why
// writing failed: "cannot write: No space left on device".
Result<Written> WriteOut(std::string_view text, int interrupt);

}  // namespace weir
