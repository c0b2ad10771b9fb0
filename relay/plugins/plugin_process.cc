#include "relay/plugins/plugin_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <vector>

namespace weir {
namespace {

// The longest wait for the end of a process that may not be killed, in milliseconds.
constexpr int kLongestEndMs = 1000;
// With 4 KiB, which is the least, a plugin that answers at once would wait for each few questions.
constexpr int kInputPipeBytes = 8 << 10;

std::string WhyNot(int error) { return std::generic_category().message(error); }

struct Pipe {
  Descriptor reads;
  Descriptor writes;
};

Result<Pipe> MakePipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return Status::Error("no pipe could be made: " + WhyNot(errno));
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

void MakeNonBlocking(const Descriptor& descriptor) {
  fcntl(descriptor.number(), F_SETFL, fcntl(descriptor.number(), F_GETFL) | O_NONBLOCK);
}

// The attributes and file actions of a child, as posix_spawn takes them.
class SpawnPlan {
 public:
  SpawnPlan(int input, int output, int error) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, error, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes_);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  int Spawn(const std::string& command, pid_t* pid) const {
    const bool is_path = command.find(' ') == command.npos;
    std::string program = is_path ? command : "/bin/sh";
    std::string option = "-c";
    std::string script = command;
    const std::array<char*, 4> with_shell = {program.data(), option.data(), script.data(), nullptr};
    const std::array<char*, 2> alone = {program.data(), nullptr};
    std::vector<char*> environment;
    for (char** variable = environ; *variable != nullptr; ++variable)
      if (!IsOfRelay(*variable)) environment.push_back(*variable);
    environment.push_back(nullptr);
    return posix_spawn(pid, program.c_str(), &actions_, &attributes_, is_path ? alone.data() : with_shell.data(),
                       environment.data());
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

}  // namespace

bool IsOfRelay(std::string_view variable) {
  return std::ranges::any_of(std::array{"WEIR_", "ORLY_", "OTEL_", "PGPASSWORD="},
                             [&](const char* begin) { return variable.starts_with(begin); });
}

PluginProcess::PluginProcess(Descriptor input, Descriptor output, Descriptor error)
    : input_(std::move(input)), output_(std::move(output)), error_(std::move(error)) {
  fcntl(input_.number(), F_SETPIPE_SZ, kInputPipeBytes);
}

Result<PluginProcess> PluginProcess::Start(const std::string& command) {
  Result<Pipe> in = MakePipe();
  Result<Pipe> out = MakePipe();
  Result<Pipe> err = MakePipe();
  for (const Result<Pipe>* pipe : {&in, &out, &err})
    if (!pipe->ok()) return pipe->status();
  const SpawnPlan plan(in.value().reads.number(), out.value().writes.number(), err.value().writes.number());
  PluginProcess process(std::move(in).value().writes, std::move(out).value().reads, std::move(err).value().reads);
  for (const Descriptor* own : {&process.input_, &process.output_, &process.error_}) MakeNonBlocking(*own);
  if (const int failed = plan.Spawn(command, &process.pid_.number); failed != 0) {
    process.pid_.number = 0;
    return Status::Error(command + " cannot be run: " + WhyNot(failed));
  }
  process.end_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, process.pid_.number, 0)));
  return process;
}

// The process id stays reserved until waitpid, and with it the group. The process itself may have left the group, and
// the relay may not kill a program that runs as another user, such as sudo: then it gets a second to end by itself.
std::string PluginProcess::End() {
  const Descriptor end = std::move(end_);
  for (Descriptor* descriptor : {&input_, &output_, &error_}) descriptor->Close();
  const pid_t pid = std::exchange(pid_.number, 0);
  if (pid == 0) return "has closed its output";
  int status = 0;
  ::kill(-pid, SIGKILL);
  const bool is_killed = ::kill(pid, SIGKILL) == 0;
  pollfd ended{.fd = end.number(), .events = POLLIN, .revents = 0};
  if (!is_killed) (void)::poll(&ended, 1, kLongestEndMs);
  pid_t waited = 0;
  while ((waited = waitpid(pid, &status, is_killed ? 0 : WNOHANG)) < 0 && errno == EINTR) continue;
  if (waited == 0) return "may not be killed by the relay, and runs on";
  if (WIFEXITED(status)) return "ended with status " + std::to_string(WEXITSTATUS(status));
  return "was ended by signal " + std::to_string(WTERMSIG(status));
}

}  // namespace weir
