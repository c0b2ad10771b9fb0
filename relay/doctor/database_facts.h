// Looks at the database: that of a data directory, without its lock, or a database server.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "relay/doctor/facts.h"

namespace weir {

// `path` is that of the database, DATA_DIR/events. Its contents are read only if no process has it. Returns nullopt if
// this user may not look.
std::optional<RocksDbFacts> LookAtRocksDb(const std::string& path, double now_seconds,
                                          std::vector<std::string>* unseen);

// Asks for ten seconds at most, and changes nothing.
PostgresFacts LookAtPostgres(const StorageSettings& settings, std::vector<std::string>* unseen);

}  // namespace weir
