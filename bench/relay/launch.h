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

// The error that a scenario ended with, and the server's end where that is why.
Status WithFate(const Status& error, RunningRelay* relay);

// {port}, {db} and {dir} of the command are replaced: a free port unless an endpoint is given, the database's
// directory, and the directory around it, where the relay's log goes and configuration may go. Both are made if they
// are not there. Returns when the port answers a WebSocket handshake; or `front` does, which speaks TLS to it.
Result<RunningRelay> Launch(const std::string& command, const std::filesystem::path& dir,
                            const std::filesystem::path& db, const std::optional<Endpoint>& endpoint,
                            const std::optional<Endpoint>& front = {});

// Every place, "{file}" and the like, becomes its value.
std::string FillIn(std::string command, const std::vector<std::pair<std::string, std::string>>& places);
std::string ExpandCommand(std::string command, uint16_t port, const std::filesystem::path& dir,
                          const std::filesystem::path& db);

// To the hard limit, for this process and the relays that it starts: idle connections are many.
void RaiseFileLimit();

}  // namespace weir
