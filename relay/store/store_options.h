// How RocksDB is set up for events. Each figure has its reason beside it.
#pragma once

#include <vector>

#include "relay/store/rocksdb_store.h"
#include "rocksdb/db.h"

namespace weir {

// RocksDB ends the program where it cannot make one of the threads by which it opens files at the start. So it makes
// none; of its files it opens a quarter of max_open_files there, no more.
inline constexpr int kFileOpeningThreads = 1;

rocksdb::DBOptions DatabaseOptions(const StoreOptions& options);
// default, events, index
std::vector<rocksdb::ColumnFamilyDescriptor> Families(const StoreOptions& options);

}  // namespace weir
