// Relays that are started for a measurement, each in a directory of its own.
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

// Returns the error that a scenario ended with, and the server's end if that is the reason.
Status WithFate(const Status& error, RunningRelay* relay);

// Starts a relay. In the command {port} is replaced by a free port unless an endpoint is given, {db} by the database's
// directory, and {dir} by the directory around it, for the relay's log and for configuration. Makes both directories if
// they are not there. Returns when the port answers a WebSocket handshake, or when `front` does, which speaks TLS to
// it.
Result<RunningRelay> Launch(const std::string& command, const std::filesystem::path& dir,
                            const std::filesystem::path& db, const std::optional<Endpoint>& endpoint,
                            const std::optional<Endpoint>& front = {});

// Replaces every place, "{file}" and the like, by its value.
std::string FillIn(std::string command, const std::vector<std::pair<std::string, std::string>>& places);
std::string ExpandCommand(std::string command, uint16_t port, const std::filesystem::path& dir,
                          const std::filesystem::path& db);

// Raises the limit of open files to the hard limit, for this process and the relays that it starts: idle connections
// are many.
void RaiseFileLimit();

}  // namespace weir
