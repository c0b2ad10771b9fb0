#include "bench/relay/spawn.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace weir {
namespace {

[[noreturn]] void Become(const std::string& command, int log) {
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // nothing is left behind, however this program ends
  setpgid(0, 0);                     // Ctrl-C is for the generator, which ends its commands in order
  execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  _exit(127);
}

}  // namespace

Result<pid_t> Spawn(const std::string& command, const std::filesystem::path& log) {
  const int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return Status::Error("cannot write " + log.string() + ": " + std::strerror(errno));
  const pid_t pid = fork();
  if (pid == 0) Become(command, fd);
  close(fd);
  if (pid < 0) return Status::Error(std::string("fork: ") + std::strerror(errno));
  return pid;
}

}  // namespace weir
