// The options of RocksDB for a database of events. store_options.cc gives the reasons for most values.
#pragma once

#include <vector>

#include "relay/store/rocksdb_store.h"
#include "rocksdb/db.h"

namespace weir {

// The number of threads that open table files while RocksDB opens the database. With 1, RocksDB starts no other thread
// for this. With more, it ends the program if it cannot start one of them. One thread is enough: when RocksDB opens a
// database, it opens at most 16 files of each column family, unless max_open_files is -1.
inline constexpr int kFileOpeningThreads = 1;

rocksdb::DBOptions DatabaseOptions(const StoreOptions& options);
// Returns the column families default, events, index and search (keys.h), in this order.
std::vector<rocksdb::ColumnFamilyDescriptor> Families(const StoreOptions& options);

}  // namespace weir
