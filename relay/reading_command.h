// Shared by the commands that read a relay's database, whether the relay runs or not.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/command_line.h"
#include "config/status.h"
#include "relay/nostr/filter.h"
#include "relay/storage/storage.h"

namespace weir {

struct ReadingFlags {
  std::string data_dir;  // --data-dir; empty: from the environment
};

void AddTo(CommandLine& line, ReadingFlags& flags);
// Opens the events of the directory that the flags name, else those of WEIR_STORE.
Result<std::unique_ptr<EventStore>> OpenForReading(const ReadingFlags& flags);
// The same, but only for a database in a directory.
Result<std::unique_ptr<RocksDbStore>> OpenDatabaseForReading(const ReadingFlags& flags);
// Opens a database by its own directory, or by the data directory above it.
Result<std::unique_ptr<RocksDbStore>> OpenNamedDatabase(const std::string& directory);

// Parses filters as in a REQ, with any number of values.
Result<std::vector<Filter>> ParseFilters(const std::vector<std::string>& texts);

}  // namespace weir
