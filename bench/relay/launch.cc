#include "bench/relay/launch.h"

#include <sys/resource.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace weir {

namespace fs = std::filesystem;

Result<std::unique_ptr<TemporaryDirectory>> TemporaryDirectory::Make(const fs::path& parent) {
  std::string name = parent / "relay-load-XXXXXX";
  if (mkdtemp(name.data()) == nullptr)
    return Status::Error("cannot make a directory in " + parent.string() + ": " + std::strerror(errno));
  return std::unique_ptr<TemporaryDirectory>(new TemporaryDirectory(name));
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;  // it is in a directory for temporary files
  fs::remove_all(path_, ignored);
}

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
                            const std::optional<Endpoint>& endpoint) {
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
  auto process = ServerProcess::Start(ExpandCommand(command, relay.target.endpoint.port, dir, db),
                                      relay.target.endpoint, dir / "relay.log");
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
