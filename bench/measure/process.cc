#include "bench/measure/process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <thread>
#include <utility>

namespace weir {
namespace {

constexpr Duration kStopPatience = std::chrono::seconds(60);
constexpr Duration kPause = std::chrono::milliseconds(20);

[[noreturn]] void Become(const std::string& command, int log) {
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  setpgid(0, 0);
  execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  _exit(127);
}

Duration Of(const timeval& t) { return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec); }

}  // namespace

Process::Process(pid_t pid, std::filesystem::path log, std::string noun)
    : pid_(pid), log_(std::move(log)), noun_(std::move(noun)), begin_(Clock::System().Now()) {}

Result<std::unique_ptr<Process>> Process::Start(const std::string& command, const std::filesystem::path& log,
                                                const std::string& noun) {
  const int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return Status::Error("cannot write " + log.string() + ": " + std::strerror(errno));
  const pid_t pid = fork();
  if (pid == 0) Become(command, fd);
  close(fd);
  if (pid < 0) return Status::Error(std::string("fork: ") + std::strerror(errno));
  return std::unique_ptr<Process>(new Process(pid, log, noun));
}

bool Process::Reap(int options) {
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

bool Process::Ended(Duration patience) {
  const TimePoint end = Clock::System().Now() + patience;
  while (!Reap(WNOHANG)) {
    if (Clock::System().Now() >= end) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

Status Process::Wait() { return Reap(0) ? Status() : Status::Error(std::string("wait: ") + std::strerror(errno)); }

Status Process::Stop() {
  if (pid_ == 0) return Status();
  kill(-pid_, SIGTERM);  // its group
  if (Ended(kStopPatience)) return Status();
  Kill();
  return Status::Error("the " + noun_ + " did not end within 60 s of SIGTERM and was killed");
}

void Process::Kill() {
  if (pid_ == 0) return;
  kill(-pid_, SIGKILL);
  Reap(0);
}

Process::~Process() {
  if (const Status s = Stop(); !s.ok()) std::fprintf(stderr, "%s\n", s.message().c_str());
}

std::string Process::End() const {
  const std::string how = WIFSIGNALED(status_) ? "by signal " + std::to_string(WTERMSIG(status_))
                                               : "with status " + std::to_string(WEXITSTATUS(status_));
  return "the " + noun_ + " ended " + how + ": " + LastLine(log_);
}

Result<CommandCost> Process::Cost() const {
  if (WIFEXITED(status_) && WEXITSTATUS(status_) == 0) return cost_;
  return Status::Error(End());
}

std::string Process::Fate() {
  constexpr Duration kToDie = std::chrono::milliseconds(500);  // its sockets close before it has ended
  return Ended(kToDie) ? End() : "";
}

std::string LastLine(const std::filesystem::path& log) {
  std::ifstream in(log);
  std::string last;
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) last = line;
  return last;
}

}  // namespace weir
