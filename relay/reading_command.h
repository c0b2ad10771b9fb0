// What the commands share that read a relay's database, beside it or without it.
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
  std::string data_dir;  // --data-dir; empty: as the environment says
};

void AddTo(CommandLine& line, ReadingFlags& flags);
// The events of the directory that the flags name; else of WEIR_STORE.
Result<std::unique_ptr<EventStore>> OpenForReading(const ReadingFlags& flags);
// The same, where it is a database in a directory.
Result<std::unique_ptr<RocksDbStore>> OpenDatabaseForReading(const ReadingFlags& flags);
// A database by the directory that it is in, or by the data directory above.
Result<std::unique_ptr<RocksDbStore>> OpenNamedDatabase(const std::string& directory);

// Filters as in a REQ, of as many values as are given.
Result<std::vector<Filter>> ParseFilters(const std::vector<std::string>& texts);

}  // namespace weir
