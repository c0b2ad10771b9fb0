#include "tests/command_child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

namespace weir {
namespace {

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

// posix_spawn: a fork of a process with threads could not do anything but exec.
CommandChild::CommandChild(std::vector<std::string> arguments, const Environment& environment, Input input) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment) variables.push_back(std::string(name).append("=").append(value));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (input == Input::kClosed) {
    posix_spawn_file_actions_addclose(&actions, STDIN_FILENO);
  } else {
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
  }
  const int flags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, (directory_ / "out").c_str(), flags, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, (directory_ / "err").c_str(), flags, 0600);
  const int failed =
      posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, Pointers(arguments).data(), Pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[0]);
  input_ = ends[1];
  if (failed != 0) throw std::runtime_error("cannot start this program again");
  signal(SIGPIPE, SIG_IGN);
  if (input != Input::kPipe) EndInput();
}

CommandChild::~CommandChild() {
  if (pid_ > 0) {
    Signal(SIGKILL);
    Wait();
  }
  EndInput();
}

bool CommandChild::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = write(input_, bytes.data(), bytes.size());
    if (size <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(size));
  }
  return true;
}

void CommandChild::EndInput() {
  if (input_ >= 0) close(input_);
  input_ = -1;
}

void CommandChild::Signal(int signal) { kill(pid_, signal); }

bool CommandChild::runs() const {
  siginfo_t info{};
  return pid_ > 0 && waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

Ran CommandChild::Wait() {
  int status = 0;
  if (waitpid(pid_, &status, 0) != pid_) status = -1;
  pid_ = -1;
  return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), .out = out(), .err = err()};
}

}  // namespace weir
