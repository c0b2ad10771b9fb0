// How RocksDB is set up for events. Each figure has its reason beside it.
#pragma once

#include <vector>

#include "relay/store/rocksdb_store.h"
#include "rocksdb/db.h"

namespace weir {

rocksdb::DBOptions DatabaseOptions(const StoreOptions& options);
// default, events, index
std::vector<rocksdb::ColumnFamilyDescriptor> Families(const StoreOptions& options);

}  // namespace weir
