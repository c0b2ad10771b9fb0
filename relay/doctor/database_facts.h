// Gathers facts about the database for `weir doctor`. The database is a PostgreSQL server, or a RocksDB in a data
// directory. These functions do not take RocksDB's lock.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "relay/doctor/facts.h"

namespace weir {

// Looks at `path`, the directory of a RocksDB database (DATA_DIR/events). If no database is there, RocksDbFacts::exists
// is false. Checks whether weir can read the database (RocksDbFacts::recognised) only if no process has it open and its
// write-ahead logs have at most 256 MiB. Adds to `unseen` what it could not look at, and why. Returns nullopt if this
// user may not read the directory, its lock file or its file CURRENT.
std::optional<RocksDbFacts> LookAtRocksDb(const std::string& path, double now_seconds,
                                          std::vector<std::string>* unseen);

// Sends queries to the server, and changes nothing there. Waits at most two seconds for each connection and each
// answer, and stops at the first query that fails. If no connection succeeds, the error is in PostgresFacts::reached;
// if only a query fails, the function adds the error to `unseen`. An error about weir's tables is in
// PostgresFacts::tables.
PostgresFacts LookAtPostgres(const StorageSettings& settings, std::vector<std::string>* unseen);

}  // namespace weir
