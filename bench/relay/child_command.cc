#include "bench/relay/child_command.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "bench/relay/server_process.h"
#include "bench/relay/spawn.h"

namespace weir {
namespace {

Duration Of(const timeval& t) { return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec); }

}  // namespace

Result<std::unique_ptr<ChildCommand>> ChildCommand::Start(const std::string& command,
                                                          const std::filesystem::path& log) {
  const Result<pid_t> pid = Spawn(command, log);
  if (!pid.ok()) return pid.status();
  return std::unique_ptr<ChildCommand>(new ChildCommand(pid.value(), log));
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
  kill(-pid_, SIGTERM);  // its own group, see Spawn
  Reap(0);
}

}  // namespace weir
