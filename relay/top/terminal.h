// RawTerminal: what `weir top` writes to, standard output; and, while it draws there, the terminal's other screen,
// without a cursor, and keys as they are typed. All is as before when Leave has been called, or this is gone.
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
  // Whether standard output is one that can be drawn on.
  static bool IsThere();
  // No more of it than can be drawn each second.
  static TerminalSize SizeNow();
  // Whether it shows colours, and somebody wants them (https://no-color.org).
  static bool HasColours();
  // Of the locale, which this sets to the environment's.
  static Charset CharsetOfLocale();

  ~RawTerminal() { Leave(); }

  // Again: what somebody else did to the terminal is undone.
  void Enter();
  void Leave();

 private:
  std::optional<termios> before_;  // of standard input, where that is a terminal
  bool entered_ = false;
};

enum class Written : uint8_t { kAll, kInterrupted, kNobodyReads };
// Waits until standard output takes all of it, or there is something to read from `interrupt`. The error says why it
// cannot be written: "cannot write: No space left on device".
Result<Written> WriteOut(std::string_view text, int interrupt);

}  // namespace weir
