// Starts relays for a measurement, each in a directory of its own.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure/process.h"
#include "bench/measure/temporary_directory.h"
#include "bench/relay/load_scenario.h"
#include "config/status.h"

namespace weir {

struct RunningRelay {
  std::unique_ptr<Process> process;
  LoadTarget target;
};

// Returns the error with which a scenario ended. If the relay has ended, adds how it ended.
Status WithFate(const Status& error, RunningRelay* relay);

// Starts a relay. In the command, {port} stands for the port of `endpoint`, or for a free port if that is not given;
// {db} stands for the directory of the database; {dir} stands for the directory of the relay's log and configuration.
// Makes both directories if they do not exist. Waits until the relay answers a WebSocket handshake. If `front` is
// given, it is a proxy that speaks TLS to the relay, and Launch waits until the proxy answers. Returns an error if a
// program answers at the port before, or if the last step of the command does not begin with exec.
Result<RunningRelay> Launch(const std::string& command, const std::filesystem::path& dir,
                            const std::filesystem::path& db, const std::optional<Endpoint>& endpoint,
                            const std::optional<Endpoint>& front = {});

// Replaces each placeholder in the command, such as "{file}", by its value.
std::string FillIn(std::string command, const std::vector<std::pair<std::string, std::string>>& places);
std::string ExpandCommand(std::string command, uint16_t port, const std::filesystem::path& dir,
                          const std::filesystem::path& db);

// Raises the limit of open files to the hard limit, for this process and the relays that it starts, because they have
// many idle connections.
void RaiseFileLimit();

}  // namespace weir
