#include "tests/import_ops/import_child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace weir {
namespace {

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> EnvironmentWith(const std::map<std::string, std::string>& added) {
  std::vector<std::string> texts;
  for (char** variable = environ; *variable != nullptr; ++variable) texts.emplace_back(*variable);
  for (const auto& [name, value] : added) texts.push_back(std::string(name).append("=").append(value));
  return texts;
}

}  // namespace

std::string ReadAll(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(text).str();
}

void WriteAll(const std::string& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

bool Eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

ImportChild::ImportChild(const std::vector<std::string>& arguments, Input input,
                         const std::map<std::string, std::string>& environment) {
  std::vector<std::string> argument_texts = {"weir import"};
  argument_texts.insert(argument_texts.end(), arguments.begin(), arguments.end());
  std::vector<std::string> environment_texts = EnvironmentWith(environment);
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
  const int failed = posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, Pointers(argument_texts).data(),
                                 Pointers(environment_texts).data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[0]);
  input_ = ends[1];
  if (failed != 0) throw std::runtime_error("cannot start this program again");
  signal(SIGPIPE, SIG_IGN);
  if (input != Input::kPipe) EndInput();
}

ImportChild::~ImportChild() {
  if (pid_ > 0) {
    Signal(SIGKILL);
    Wait();
  }
  EndInput();
}

bool ImportChild::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = write(input_, bytes.data(), bytes.size());
    if (size <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(size));
  }
  return true;
}

void ImportChild::EndInput() {
  if (input_ >= 0) close(input_);
  input_ = -1;
}

void ImportChild::Signal(int signal) { kill(pid_, signal); }

Ran ImportChild::Wait() {
  int status = 0;
  if (waitpid(pid_, &status, 0) != pid_) status = -1;
  pid_ = -1;
  return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
          .out = ReadAll(directory_ / "out"),
          .err = err()};
}

}  // namespace weir
