// What the commands share that read a relay's database, beside it or without it.
#pragma once

#include <memory>
#include <string>

#include "config/status.h"
#include "relay/store/rocksdb_store.h"

namespace CLI {  // NOLINT(readability-identifier-naming): its own name
class App;
}

namespace weir {

struct ReadingFlags {
  std::string data_dir;  // --data-dir; empty: as the environment says
};

void AddTo(CLI::App& app, ReadingFlags& flags);
Result<std::unique_ptr<RocksDbStore>> OpenForReading(const ReadingFlags& flags);
// A database by the directory that it is in, or by the data directory above.
Result<std::unique_ptr<RocksDbStore>> OpenForReading(const std::string& directory);

}  // namespace weir
