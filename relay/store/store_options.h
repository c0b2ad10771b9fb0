// Returns RocksDB's options for a database of events. The source file has the reason for each figure.
#pragma once

#include <vector>

#include "relay/store/rocksdb_store.h"
#include "rocksdb/db.h"

namespace weir {

// The number of threads with which RocksDB opens files when it opens the database. With 1, RocksDB makes no other
// thread for this. With more, it ends the program if it cannot make one of them. At that time it opens at most a
// quarter of max_open_files.
inline constexpr int kFileOpeningThreads = 1;

rocksdb::DBOptions DatabaseOptions(const StoreOptions& options);
// Returns the column families default, events and index (keys.h), in this order.
std::vector<rocksdb::ColumnFamilyDescriptor> Families(const StoreOptions& options);

}  // namespace weir
