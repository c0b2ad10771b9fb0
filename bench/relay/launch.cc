#include "bench/relay/launch.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <utility>

#include "bench/relay/client_socket.h"
#include "bench/relay/loop.h"

namespace weir {

namespace fs = std::filesystem;

namespace {

std::string NameOf(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(in, name);
  return name;
}

Status WaitUntilItAnswers(Process* process, const Endpoint& endpoint) {
  constexpr Duration kPatience = std::chrono::seconds(60);
  constexpr Duration kPause = std::chrono::milliseconds(20);
  const TimePoint end = Loop::Now() + kPatience;
  std::string why;
  while (Loop::Now() < end) {
    if (process->Ended(kPause)) return Status::Error(process->Fate());
    const auto connection = ClientSocket::Open(endpoint);
    if (connection.ok()) return Status();
    why = connection.status().message();
  }
  return Status::Error("the server does not answer: " + why);
}

Result<std::unique_ptr<Process>> StartServer(const std::string& command, const Endpoint& endpoint,
                                             const Endpoint& front, const fs::path& log) {
  if (const auto taken = ConnectTo(endpoint); taken.ok()) {
    close(taken.value());
    return Status::Error("somebody answers at " + endpoint.Url() + " already");
  }
  auto process = Process::Start(command, log, "server");
  if (!process.ok()) return process;
  if (Status s = WaitUntilItAnswers(process.value().get(), front); !s.ok()) return s;
  if (const std::string name = NameOf(process.value()->pid()); name == "sh" || name == "dash" || name == "bash")
    return Status::Error("\"" + command + "\" leaves a shell before the relay: begin its last step with exec");
  return process;
}

}  // namespace

std::string FillIn(std::string command, const std::vector<std::pair<std::string, std::string>>& places) {
  for (const auto& [place, value] : places)
    for (size_t at = command.find(place); at != std::string::npos; at = command.find(place, at + value.size()))
      command.replace(at, place.size(), value);
  return command;
}

std::string ExpandCommand(std::string command, uint16_t port, const fs::path& dir, const fs::path& db) {
  return FillIn(std::move(command), {{"{port}", std::to_string(port)}, {"{dir}", dir.string()}, {"{db}", db.string()}});
}

Result<RunningRelay> Launch(const std::string& command, const fs::path& dir, const fs::path& db,
                            const std::optional<Endpoint>& endpoint, const std::optional<Endpoint>& front) {
  RunningRelay relay{.target = {.db = db}};
  if (endpoint) {
    relay.target.endpoint = *endpoint;
  } else {
    const auto port = FreePort();
    if (!port.ok()) return port.status();
    relay.target.endpoint.port = port.value();
  }
  std::error_code error;
  for (const fs::path& made : {dir, db})
    if (fs::create_directories(made, error); error)
      return Status::Error("cannot make " + made.string() + ": " + error.message());
  auto process = StartServer(ExpandCommand(command, relay.target.endpoint.port, dir, db), relay.target.endpoint,
                             front.value_or(relay.target.endpoint), dir / "relay.log");
  if (!process.ok()) return process.status();
  relay.process = std::move(process).value();
  relay.target.pid = relay.process->pid();
  return relay;
}

Status WithFate(const Status& error, RunningRelay* relay) {
  const std::string fate = relay->process != nullptr ? relay->process->Fate() : "";
  return fate.empty() ? error : Status::Error(error.message() + "; " + fate);
}

void RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace weir
