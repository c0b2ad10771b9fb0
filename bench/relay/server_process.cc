#include "bench/relay/server_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <thread>

#include "bench/relay/client_socket.h"
#include "bench/relay/loop.h"
#include "bench/relay/spawn.h"

namespace weir {
namespace {

constexpr Duration kStartPatience = std::chrono::seconds(60);
constexpr Duration kStopPatience = std::chrono::seconds(60);
constexpr Duration kPause = std::chrono::milliseconds(20);

std::string NameOf(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(in, name);
  return name;
}

}  // namespace

std::string LastLine(const std::filesystem::path& log) {
  std::ifstream in(log);
  std::string last;
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) last = line;
  return last;
}

Result<std::unique_ptr<ServerProcess>> ServerProcess::Start(const std::string& command, const Endpoint& endpoint,
                                                            const std::filesystem::path& log) {
  if (const auto taken = ConnectTo(endpoint); taken.ok()) {
    close(taken.value());
    return Status::Error("somebody answers at " + endpoint.Url() + " already");
  }
  const Result<pid_t> pid = Spawn(command, log);
  if (!pid.ok()) return pid.status();
  std::unique_ptr<ServerProcess> server(new ServerProcess(pid.value(), log));
  if (Status s = server->WaitUntilItAnswers(endpoint); !s.ok()) return s;
  if (const std::string name = NameOf(pid.value()); name == "sh" || name == "dash" || name == "bash")
    return Status::Error("\"" + command + "\" leaves a shell before the relay: begin its last step with exec");
  return server;
}

Status ServerProcess::WaitUntilItAnswers(const Endpoint& endpoint) {
  const TimePoint end = Loop::Now() + kStartPatience;
  std::string why;
  while (Loop::Now() < end) {
    if (Ended(kPause)) return Status::Error(Fate());
    const auto connection = ClientSocket::Open(endpoint);
    if (connection.ok()) return Status();
    why = connection.status().message();
  }
  return Status::Error("the server does not answer: " + why);
}

bool ServerProcess::Ended(Duration patience) {
  const TimePoint end = Loop::Now() + patience;
  int status = 0;
  while (pid_ > 0 && waitpid(pid_, &status, WNOHANG) == 0) {
    if (Loop::Now() >= end) return false;
    std::this_thread::sleep_for(kPause);
  }
  if (pid_ > 0)
    end_ = WIFSIGNALED(status) ? "by signal " + std::to_string(WTERMSIG(status))
                               : "with status " + std::to_string(WEXITSTATUS(status));
  pid_ = 0;
  return true;
}

std::string ServerProcess::Fate() {
  constexpr Duration kToDie = std::chrono::milliseconds(500);  // its sockets close before it has ended
  return Ended(kToDie) ? "the server ended " + end_ + ": " + LastLine(log_) : "";
}

Status ServerProcess::Stop() {
  if (pid_ == 0) return Status();
  kill(-pid_, SIGTERM);  // its own group, see Spawn
  if (Ended(kStopPatience)) return Status();
  kill(-pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = 0;
  return Status::Error("the server did not end within 60 s of SIGTERM and was killed");
}

ServerProcess::~ServerProcess() {
  if (const Status s = Stop(); !s.ok()) std::fprintf(stderr, "relay_load: %s\n", s.message().c_str());
}

}  // namespace weir
