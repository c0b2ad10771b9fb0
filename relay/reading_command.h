// What the commands share that read a relay's database, beside it or without it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/command_line.h"
#include "config/status.h"
#include "relay/nostr/filter.h"
#include "relay/store/rocksdb_store.h"

namespace weir {

struct ReadingFlags {
  std::string data_dir;  // --data-dir; empty: as the environment says
};

void AddTo(CommandLine& line, ReadingFlags& flags);
Result<std::unique_ptr<RocksDbStore>> OpenForReading(const ReadingFlags& flags);
// A database by the directory that it is in, or by the data directory above.
Result<std::unique_ptr<RocksDbStore>> OpenForReading(const std::string& directory);

// Filters as in a REQ, of as many values as are given.
Result<std::vector<Filter>> ParseFilters(const std::vector<std::string>& texts);

}  // namespace weir
