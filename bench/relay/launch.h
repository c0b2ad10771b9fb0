// Relays that are started for a measurement, each in a directory of its own.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/relay/load_scenario.h"
#include "bench/relay/server_process.h"
#include "config/status.h"

namespace weir {

// Removed at the end, with all that is in it.
class TemporaryDirectory {
 public:
  static Result<std::unique_ptr<TemporaryDirectory>> Make(const std::filesystem::path& parent);
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  const std::filesystem::path path_;
};

struct RunningRelay {
  std::unique_ptr<ServerProcess> process;
  LoadTarget target;
};

// The error that a scenario ended with, and the server's end where that is why.
Status WithFate(const Status& error, RunningRelay* relay);

// {port}, {db} and {dir} of the command are replaced: a free port unless an endpoint is given, the database's
// directory, and the directory around it, where the relay's log goes and configuration may go. Both are made if they
// are not there.
Result<RunningRelay> Launch(const std::string& command, const std::filesystem::path& dir,
                            const std::filesystem::path& db, const std::optional<Endpoint>& endpoint);

// Every place, "{file}" and the like, becomes its value.
std::string FillIn(std::string command, const std::vector<std::pair<std::string, std::string>>& places);
std::string ExpandCommand(std::string command, uint16_t port, const std::filesystem::path& dir,
                          const std::filesystem::path& db);

// To the hard limit, for this process and the relays that it starts: idle connections are many.
void RaiseFileLimit();

}  // namespace weir
