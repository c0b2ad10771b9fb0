#include "bench/relay/child_command.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "bench/relay/server_process.h"

namespace weir {
namespace {

[[noreturn]] void Become(const std::string& command, int log) {
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // nothing is left behind, however this program ends
  setpgid(0, 0);
  execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  _exit(127);
}

Duration Of(const timeval& t) { return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec); }

}  // namespace

Result<std::unique_ptr<ChildCommand>> ChildCommand::Start(const std::string& command,
                                                          const std::filesystem::path& log) {
  const int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return Status::Error("cannot write " + log.string() + ": " + std::strerror(errno));
  const pid_t pid = fork();
  if (pid == 0) Become(command, fd);
  close(fd);
  if (pid < 0) return Status::Error(std::string("fork: ") + std::strerror(errno));
  return std::unique_ptr<ChildCommand>(new ChildCommand(pid, log));
}

bool ChildCommand::Reap(int options) {
  if (pid_ == 0) return true;
  rusage usage{};
  if (wait4(pid_, &status_, options, &usage) != pid_) return false;
  cost_ = {.wall = Clock::System().Now() - begin_,
           .user = Of(usage.ru_utime),
           .system = Of(usage.ru_stime),
           .peak_mb = static_cast<double>(usage.ru_maxrss) * 1024 / 1e6};
  pid_ = 0;
  return true;
}

bool ChildCommand::Ended() { return Reap(WNOHANG); }

Status ChildCommand::Wait() { return Reap(0) ? Status() : Status::Error(std::string("wait: ") + std::strerror(errno)); }

Result<CommandCost> ChildCommand::Cost() const {
  if (WIFEXITED(status_) && WEXITSTATUS(status_) == 0) return cost_;
  const std::string end = WIFSIGNALED(status_) ? "by signal " + std::to_string(WTERMSIG(status_))
                                               : "with status " + std::to_string(WEXITSTATUS(status_));
  return Status::Error("the command ended " + end + ": " + LastLine(log_));
}

ChildCommand::~ChildCommand() {
  if (pid_ == 0) return;
  kill(-pid_, SIGTERM);  // its own group, see Become
  Reap(0);
}

}  // namespace weir
