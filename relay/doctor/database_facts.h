// Gathers facts about the database for `weir doctor`: about the RocksDB in a data directory, without taking its lock,
// or about a PostgreSQL server.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "relay/doctor/facts.h"

namespace weir {

// Looks at the directory of a RocksDB, DATA_DIR/events. If the database is not there, RocksDbFacts::exists is false.
// Checks whether the database can be read (`recognised`) only if no process holds it, and if its write-ahead logs have
// at most 256 MiB. Adds to `unseen` the things that it could not look at, and why. Returns nullopt if this user may not
// look at the directory.
std::optional<RocksDbFacts> LookAtRocksDb(const std::string& path, double now_seconds,
                                          std::vector<std::string>* unseen);

// Asks the server, and changes nothing. Waits at most two seconds for each connection and each answer, and stops at the
// first question that fails. If the server was not reached, PostgresFacts::reached has the error; if only a question
// failed, `unseen` gets the error.
PostgresFacts LookAtPostgres(const StorageSettings& settings, std::vector<std::string>* unseen);

}  // namespace weir
