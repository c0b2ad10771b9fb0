// PtyChild: runs `weir top` in another process, which is this test program, started again with a pseudo-terminal as its
// input and output.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/settings.h"
#include "tests/relay/doctor/weir_child.h"

namespace weir {

class PtyChild {
 public:
  PtyChild(std::vector<std::string> arguments, uint16_t columns, uint16_t lines, Environment settings = {}) {
    terminal_ = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (terminal_ < 0 || grantpt(terminal_) != 0 || unlockpt(terminal_) != 0) throw std::runtime_error("no terminal");
    Resize(columns, lines);
    tcgetattr(terminal_, &before_);
    arguments.insert(arguments.begin(), "weir top");
    settings.insert({{"TERM", "xterm"}, {"LC_ALL", "C.UTF-8"}});
    Spawn(arguments, EnvironmentOfChild(kWeirChild, settings));
  }
  ~PtyChild() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      Wait();
    }
    close(terminal_);
  }
  PtyChild(const PtyChild&) = delete;
  PtyChild& operator=(const PtyChild&) = delete;

  void Resize(uint16_t columns, uint16_t lines) const {
    const winsize size{lines, columns, 0, 0};
    ioctl(terminal_, TIOCSWINSZ, &size);
  }
  void Type(std::string_view keys) const { (void)!write(terminal_, keys.data(), keys.size()); }
  // Returns true if the terminal has room for more keys.
  bool TakesKeys() const {
    pollfd one{terminal_, POLLOUT, 0};
    return poll(&one, 1, 0) == 1 && (one.revents & POLLOUT) != 0;
  }
  void Signal(int signal) const { kill(pid_, signal); }

  // Reads until the whole output meets the condition. Returns false if the program ends before that, or after a minute.
  template <typename Condition>
  bool ReadUntil(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!condition(std::as_const(written_)))
      if (std::chrono::steady_clock::now() > end || !ReadSome()) return condition(std::as_const(written_));
    return true;
  }
  bool ReadUntilHas(const std::string& text) {
    return ReadUntil([&](const std::string& written) { return written.find(text) != written.npos; });
  }
  void Forget() { written_.clear(); }
  const std::string& written() const { return written_; }

  // Returns the lines of the latest complete screen, without colours.
  std::vector<std::string> Screen() const {
    const size_t last = written_.rfind("\x1b[H");
    const size_t begin = last == written_.npos || last == 0 ? last : written_.rfind("\x1b[H", last - 1);
    std::vector<std::string> lines(1);
    for (size_t i = begin + 3; begin != written_.npos && i < std::min(last, written_.size()); ++i) {
      if (written_[i] == '\x1b') {
        i = written_.find_first_of("mJhl", i);
      } else if (written_[i] == '\n') {
        lines.emplace_back();
      } else if (written_[i] != '\r') {
        lines.back() += written_[i];
      }
    }
    return lines;
  }

  // Returns true if the program ends even though its output is not read.
  bool EndsUnread() {
    const bool ended = Eventually([this] { return waitpid(pid_, nullptr, WNOHANG) == pid_; });
    if (ended) pid_ = -1;
    return ended;
  }
  // Waits for the program's end. Returns its exit code, or minus the signal that ended it.
  int Wait() {
    while (ReadSome()) continue;
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  // Returns true if the terminal's settings for keys are those from before the program started.
  bool IsRestored() const {
    termios now{};
    tcgetattr(terminal_, &now);
    return now.c_lflag == before_.c_lflag && now.c_iflag == before_.c_iflag && !IsRaw();
  }
  bool IsRaw() const {
    termios now{};
    tcgetattr(terminal_, &now);
    return (now.c_lflag & ICANON) == 0;
  }

 private:
  void Spawn(std::vector<std::string>& arguments, const Environment& environment) {
    std::vector<std::string> variables;
    for (const auto& [name, value] : environment) variables.push_back(std::string(name).append("=").append(value));
    const auto pointers = [](std::vector<std::string>& texts) {
      std::vector<char*> all;
      for (std::string& text : texts) all.push_back(text.data());
      all.push_back(nullptr);
      return all;
    };
    std::array<char, 128> name{};
    ptsname_r(terminal_, name.data(), name.size());
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
      posix_spawn_file_actions_addopen(&actions, stream, name.data(), O_RDWR, 0);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t usual;  // a caller, such as nohup, may ignore some of them
    sigfillset(&usual);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF);
    const int failed = posix_spawn(&pid_, "/proc/self/exe", &actions, &attributes, pointers(arguments).data(),
                                   pointers(variables).data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (failed != 0) throw std::runtime_error("cannot start this program again");
  }
  // A terminal that no process has open any more gives an error.
  bool ReadSome() {
    pollfd one{terminal_, POLLIN, 0};
    if (poll(&one, 1, 60'000) != 1) return false;
    std::array<char, 4096> bytes{};
    const ssize_t size = read(terminal_, bytes.data(), bytes.size());
    if (size <= 0) return false;
    written_.append(bytes.data(), static_cast<size_t>(size));
    return true;
  }

  int terminal_ = -1;
  pid_t pid_ = -1;
  termios before_{};
  std::string written_;
};

}  // namespace weir
