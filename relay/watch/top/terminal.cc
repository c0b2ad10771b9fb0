#include "relay/watch/top/terminal.h"

#include <fcntl.h>
#include <langinfo.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdlib>
#include <cstring>
#include <string>

namespace weir {
namespace {

// Switches to the alternate screen, so that the main screen keeps its contents; hides the cursor; turns off line
// wrapping; clears the screen.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
constexpr std::string_view kLeave = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";

// Limits the memory for a frame; no user has a larger screen.
constexpr size_t kMostColumns = 1000;
constexpr size_t kMostRows = 500;

// If poll says that a pipe has room, a write of this many bytes does not block.
constexpr size_t kPieceBytes = 1024;
constexpr int kMomentMs = 20;

// Returns a file descriptor for the output. A terminal may have room for fewer bytes than kPieceBytes, and a write to
// it would then block. So this function opens the terminal again with O_NONBLOCK. It does not set this flag on standard
// output, because other programs share that file description.
int Output() {
  static const int own =
      isatty(STDOUT_FILENO) == 1 ? open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
  return own >= 0 ? own : STDOUT_FILENO;
}

std::string_view Term() {
  const char* term = std::getenv("TERM");
  return term != nullptr ? term : "";
}

// Writes the text, but gives up after about 500 ms, so that the program can end even if the terminal accepts nothing.
void WriteSoon(std::string_view text) {
  constexpr int kPatienceMs = 500;
  for (int waited = 0; !text.empty() && waited < kPatienceMs; waited += kMomentMs) {
    pollfd out{Output(), POLLOUT, 0};
    ssize_t size = -1;
    if (poll(&out, 1, kMomentMs) == 1 && (out.revents & POLLOUT) != 0) {
      size = write(Output(), text.data(), text.size());
      if (size < 0) poll(nullptr, 0, kMomentMs);
    }
    if (size > 0) text.remove_prefix(static_cast<size_t>(size));
  }
}

}  // namespace

bool RawTerminal::IsThere() { return CanBeDrawnOn(STDOUT_FILENO); }

TerminalSize RawTerminal::SizeNow() {
  const TerminalSize size = SizeOfTerminal(STDOUT_FILENO);
  return {.rows = std::min(size.rows, kMostRows), .columns = std::min(size.columns, kMostColumns)};
}

bool RawTerminal::HasColours() {
  const char* unwanted = std::getenv("NO_COLOR");
  const bool has_none = Term().starts_with("vt") || Term().ends_with("-m") || Term().find("mono") != Term().npos;
  return IsThere() && !has_none && (unwanted == nullptr || *unwanted == '\0');
}

Charset RawTerminal::CharsetOfLocale() {
  if (std::setlocale(LC_CTYPE, "") == nullptr) return Charset::kAscii;
  return std::string_view(nl_langinfo(CODESET)) == "UTF-8" && Term() != "dumb" ? Charset::kUtf8 : Charset::kAscii;
}

// Keys such as Ctrl-C still send signals. Ctrl-S no longer stops the output.
void RawTerminal::Enter() {
  termios now{};
  if (tcgetattr(STDIN_FILENO, &now) == 0) {
    if (!before_) before_ = now;
    now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    now.c_iflag &= ~static_cast<tcflag_t>(IXON);
    now.c_cc[VMIN] = 1;
    now.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &now);
  }
  entered_ = true;
  WriteSoon(kEnter);
}

void RawTerminal::Leave() {
  if (!entered_) return;
  entered_ = false;
  WriteSoon(kLeave);
  if (before_) tcsetattr(STDIN_FILENO, TCSANOW, &*before_);
  before_.reset();
}

Result<Written> WriteOut(std::string_view text, int interrupt) {
  while (!text.empty()) {
    pollfd both[] = {{Output(), POLLOUT, 0}, {interrupt, POLLIN, 0}};
    poll(both, 2, -1);
    if ((both[0].revents & POLLOUT) != 0) {
      const ssize_t size = write(Output(), text.data(), std::min(text.size(), kPieceBytes));
      if (size < 0 && (errno == EPIPE || errno == EIO)) return Written::kNobodyReads;
      if (size < 0 && errno != EINTR && errno != EAGAIN)
        return Status::Error(std::string("cannot write: ") + std::strerror(errno));
      if (size > 0) {
        text.remove_prefix(static_cast<size_t>(size));
        continue;
      }
      // The terminal has some room, but too little for this write. Waits a moment, or until `interrupt` is readable.
      poll(&both[1], 1, kMomentMs);
    } else if (both[0].revents != 0) {
      return Written::kNobodyReads;
    }
    if (both[1].revents != 0) return Written::kInterrupted;
  }
  return Written::kAll;
}

}  // namespace weir
