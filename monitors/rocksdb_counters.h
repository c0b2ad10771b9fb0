// Reads RocksDB's own counters as numbers. Reading them takes about 140 µs for each column family under load (RocksDB
// writes a hundred strings), so the monitor usually does it once a second, not at every sample.
#pragma once

#include "config/status.h"
#include "monitors/lsm_counters.h"
#include "rocksdb/db.h"

namespace weir {

// Returns the counters of the column family, or an error if RocksDB does not answer.
Result<RocksDbCounters> ReadCounters(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* column_family);
// Returns the bytes that the program has written to all column families since the database was opened, or an error if
// RocksDB does not answer.
Result<double> ReadUserBytes(rocksdb::DB* db);

}  // namespace weir
