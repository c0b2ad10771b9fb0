// How RocksDB is set up for events. Each figure has its reason beside it.
#pragma once

#include <vector>

#include "relay/store/rocksdb_store.h"
#include "rocksdb/db.h"

namespace weir {

// RocksDB ends the program if it cannot make one of the threads that open files at the start. With 1 it makes none; it
// opens at the start no more files than a quarter of max_open_files.
inline constexpr int kFileOpeningThreads = 1;

rocksdb::DBOptions DatabaseOptions(const StoreOptions& options);
// Returns the families default, events and index, in this order.
std::vector<rocksdb::ColumnFamilyDescriptor> Families(const StoreOptions& options);

}  // namespace weir
