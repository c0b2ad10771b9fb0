// RawTerminal: prepares the terminal for `weir top`. Enter switches standard output to the terminal's alternate screen,
// hides the cursor, and has the terminal send each key at once, without showing it. Leave, or the destructor, restores
// all of that.
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
  // Returns true if standard output is a terminal that can be drawn on.
  static bool IsThere();
  // Returns the size of the terminal, but at most 500 rows and 1000 columns, so that it can be drawn each second.
  static TerminalSize SizeNow();
  // Returns true if standard output is a terminal that shows colours, and the user wants them (https://no-color.org).
  static bool HasColours();
  // Sets the program's locale from the environment (setlocale), and returns its charset.
  static Charset CharsetOfLocale();

  ~RawTerminal() { Leave(); }

  // May be called again, to undo what other programs have done to the terminal meanwhile.
  void Enter();
  // Does nothing if Enter was not called.
  void Leave();

 private:
  std::optional<termios> before_;  // the settings of standard input before Enter, if it is a terminal
  bool entered_ = false;
};

enum class Written : uint8_t {
  kAll,
  kInterrupted,  // a part of the text may have been written
  kNobodyReads   // the reader of standard output is gone
};
// Writes the text to standard output, and waits while the output has no room. If there is something to read from the
// file descriptor `interrupt` during such a wait, returns kInterrupted. The error says why writing failed: "cannot
// write: No space left on device".
Result<Written> WriteOut(std::string_view text, int interrupt);

}  // namespace weir
