#include "tests/relay/store/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>

#include "tests/relay/store/saving_child.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

struct Pipe {
  int ends[2];
  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  }
};

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

int Hold(const std::string& path) {
  const auto store = MustOpen(SmallStore(path));
  if (!store) return 1;
  std::puts("open");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return 0;
}

}  // namespace

// posix_spawn: a fork of a process with threads could not do anything but exec.
ChildProcess::ChildProcess(const std::vector<std::string>& arguments,
                           const std::map<std::string, std::string>& environment) {
  std::vector<std::string> argument_texts = {"store_test"};
  argument_texts.insert(argument_texts.end(), arguments.begin(), arguments.end());
  std::vector<std::string> environment_texts;
  for (char** variable = environ; *variable != nullptr; ++variable) environment_texts.emplace_back(*variable);
  for (const auto& [name, value] : environment)
    environment_texts.push_back(std::string(name).append("=").append(value));
  const Pipe in;
  const Pipe out;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.ends[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
  const int failed = posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, Pointers(argument_texts).data(),
                                 Pointers(environment_texts).data());
  posix_spawn_file_actions_destroy(&actions);
  close(in.ends[0]);
  close(out.ends[1]);
  input_ = in.ends[1];
  output_ = out.ends[0];
  if (failed != 0) throw std::runtime_error("cannot start this program again");
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) {
    Kill();
    Wait();
  }
  EndInput();
  close(output_);
}

bool ChildProcess::ReadLine(std::string* line) {
  size_t end = buffer_.find('\n', read_);
  while (end == std::string::npos) {
    buffer_.erase(0, read_);
    read_ = 0;
    char more[65536];
    const ssize_t size = read(output_, more, sizeof(more));
    if (size <= 0) return false;
    const size_t searched = buffer_.size();
    buffer_.append(more, static_cast<size_t>(size));
    end = buffer_.find('\n', searched);
  }
  *line = buffer_.substr(read_, end - read_);
  read_ = end + 1;
  return true;
}

void ChildProcess::EndInput() {
  if (input_ >= 0) close(input_);
  input_ = -1;
}

void ChildProcess::Kill() { kill(pid_, SIGKILL); }

int ChildProcess::Wait() {
  EndInput();
  int status = 0;
  if (waitpid(pid_, &status, 0) != pid_) return -1;
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int RunChild(const std::string& role, const std::string& path) {
  if (role == "hold") return Hold(path);
  if (role == "save") return SaveUntilKilled(path);
  if (role == "remove") return RemoveUntilKilled(path);
  if (role == "build") return BuildWords(path);
  std::fprintf(stderr, "no child is called %s\n", role.c_str());
  return 2;
}

}  // namespace weir
