#include "tests/gate/gate_child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace weir {
namespace {

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> EnvironmentWith(const std::map<std::string, std::string>& settings) {
  std::vector<std::string> texts;
  texts.push_back(std::string(kGateChild).append("=1"));
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (!text.starts_with("WEIR_") && !text.starts_with("ORLY_")) texts.emplace_back(text);
  }
  for (const auto& [name, value] : settings) texts.push_back(std::string(name).append("=").append(value));
  return texts;
}

}  // namespace

// posix_spawn: a fork of a process with threads could not do anything but exec.
GateChild::GateChild(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& settings) {
  std::vector<std::string> argument_texts = {"weir gate"};
  argument_texts.insert(argument_texts.end(), arguments.begin(), arguments.end());
  std::vector<std::string> environment_texts = EnvironmentWith(settings);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const int flags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, (directory_ / "out").c_str(), flags, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, (directory_ / "err").c_str(), flags, 0600);
  const int failed = posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, Pointers(argument_texts).data(),
                                 Pointers(environment_texts).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::runtime_error("cannot start this program again");
}

GateChild::~GateChild() {
  if (pid_ <= 0) return;
  Signal(SIGKILL);
  Wait();
}

uint16_t GateChild::Port() {
  constexpr std::string_view kBegin = "listening on http://127.0.0.1:";
  uint16_t port = 0;
  Soon([&] {
    const std::string text = err();
    if (const size_t at = text.find(kBegin); at != text.npos && text.find(',', at) != text.npos)
      port = static_cast<uint16_t>(std::atoi(text.c_str() + at + kBegin.size()));
    siginfo_t info{};
    const bool ended =
        waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
    return port != 0 || ended;
  });
  return port;
}

void GateChild::Signal(int signal) { kill(pid_, signal); }

int GateChild::Wait() {
  int status = 0;
  if (waitpid(pid_, &status, 0) != pid_) return -1000;
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace weir
