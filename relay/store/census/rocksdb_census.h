// The census of a store on RocksDB: three walks through the index, and lookups of a sample of records.
#pragma once

#include "config/status.h"
#include "relay/store/census/census.h"
#include "relay/store/rocksdb_store.h"

namespace weir {

Result<Census> TakeRocksDbCensus(const RocksDbStore& store, const CensusOptions& options);

}  // namespace weir
