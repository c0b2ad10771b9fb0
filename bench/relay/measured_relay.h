// MeasuredRelay: a relay with a database of its own, which is started and stopped several times.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "bench/measure/process.h"
#include "bench/measure/results.h"
#include "bench/relay/launch.h"
#include "config/clock.h"
#include "config/status.h"

namespace weir {

class MeasuredRelay {
 public:
  // Replaces {memory_mb} in the command that starts a relay.
  static constexpr const char* kMemoryPlace = "{memory_mb}";

  // `import` is the command that imports {file}. The database, the log and the configuration are below `dir`.
  MeasuredRelay(Contender server, std::string import, std::filesystem::path dir);

  const std::string& name() const { return server_.name; }
  const LoadTarget& target() const { return relay_.target; }
  std::filesystem::path db() const { return dir_ / "db"; }
  bool has_memory_target() const { return server_.command.find(kMemoryPlace) != std::string::npos; }

  // Imports the file, and waits for the end.
  Result<CommandCost> Import(const std::filesystem::path& file) const;
  // Starts the relay; returns the time until it answers, to 20 ms.
  Result<Duration> Start(uint64_t memory_mb);
  Status Stop();

  // Returns the error with the relay's name and, if the relay has ended, with how it ended.
  Status Explain(const Status& error);

 private:
  Contender server_;
  std::string import_;
  std::filesystem::path dir_;
  RunningRelay relay_;
};

}  // namespace weir
