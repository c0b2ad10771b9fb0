// RawTerminal: prepares the terminal for `weir top`. Enter switches to the terminal's alternate screen, hides the
// cursor, turns off line wrapping, and makes the terminal send each key at once, without showing it. Leave, which the
// destructor calls, undoes these changes.
#pragma once

#include <termios.h>

#include <optional>
#include <string_view>

#include "config/status.h"
#include "config/terminal_size.h"
#include "relay/watch/top/screen.h"

namespace weir {

class RawTerminal {
 public:
  // Returns true if standard output is a terminal on which a program can draw (CanBeDrawnOn).
  static bool IsThere();
  // Returns the size of the terminal, but at most 500 rows and 1000 columns, so that drawing it each second stays
  // cheap.
  static TerminalSize SizeNow();
  // Returns true if IsThere is true, TERM does not name a terminal without colours, and NO_COLOR (https://no-color.org)
  // is unset or empty.
  static bool HasColours();
  // Sets the program's locale from the environment (setlocale). Returns kUtf8 if its encoding is UTF-8 and TERM is not
  // "dumb", else kAscii.
  static Charset CharsetOfLocale();

  ~RawTerminal() { Leave(); }

  // May be called again, because another program may have changed the terminal meanwhile.
  void Enter();
  // Does nothing if Enter was not called.
  void Leave();

 private:
  std::optional<termios> before_;  // the settings of standard input before Enter; nullopt if it is no terminal
  bool entered_ = false;
};

enum class Written : uint8_t {
  kAll,
  kInterrupted,  // a part of the text may have been written
  kNobodyReads   // the terminal, or the reader of the pipe, is gone
};
// Writes the text to standard output, and waits while the output accepts no bytes. If the file descriptor `interrupt`
// becomes readable during such a wait, returns kInterrupted. The error says why writing failed: "cannot write: No space
// left on device".
Result<Written> WriteOut(std::string_view text, int interrupt);

}  // namespace weir
