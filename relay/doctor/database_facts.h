// The database: of a data directory without its lock, or behind a wire.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "relay/doctor/facts.h"

namespace weir {

// `path`: that of the database, DATA_DIR/events. What it holds is only read where no process has it. Nothing where this
// user may not look.
std::optional<RocksDbFacts> LookAtRocksDb(const std::string& path, double now_seconds,
                                          std::vector<std::string>* unseen);

// Asks for ten seconds at most, and changes nothing.
PostgresFacts LookAtPostgres(const StorageSettings& settings, std::vector<std::string>* unseen);

}  // namespace weir
