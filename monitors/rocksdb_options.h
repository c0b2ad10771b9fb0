// Prepares the options of a RocksDB that weir is to hold, before it is opened.
//
//   rocksdb::Options options;                                   // the program's own
//   auto prepared = weir::PrepareRocksDb(target_bytes, &options);
//   if (!prepared.ok()) …
//   rocksdb::DB::Open(options, path, &db);
//   weir::RocksDbMonitor monitor(db, {}, prepared.value());
//
// What it does: one block cache and one WriteBufferManager charged to it, sized from the target, for all column
// families, each only where the program set none; files in L0 large enough for L1 (MatchL0ToL1); RocksDB's own brakes
// moved outwards, where they stay as a safety net; a listener that counts how often they are reached. Everything else is
// the program's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/status.h"
#include "monitors/lsm_signals.h"
#include "monitors/memory_target.h"
#include "monitors/rocksdb_listener.h"
#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksdb/write_buffer_manager.h"

namespace weir {

// What the monitor must know about a prepared database. Copies share cache and listener.
struct PreparedRocksDb {
  uint64_t target_bytes = 0;
  MemoryBudget budget;
  std::shared_ptr<rocksdb::Cache> block_cache;  // null where the program wants none
  std::shared_ptr<rocksdb::WriteBufferManager> write_buffer_manager;
  std::shared_ptr<RocksDbListener> listener;
  // By column family, before its triggers were moved: what a level of 1.0 means.
  std::map<std::string, LsmGeometry> geometry;
};

// A column family's block cache is taken as set by the program unless it has RocksDB's default size, 8 MiB: RocksDB
// puts a cache of that size where none was set, and the two cannot be told apart.
Result<PreparedRocksDb> PrepareRocksDb(uint64_t target_bytes, rocksdb::Options* options);
Result<PreparedRocksDb> PrepareRocksDb(uint64_t target_bytes, rocksdb::DBOptions* db_options,
                                       std::vector<rocksdb::ColumnFamilyDescriptor>* column_families);

// Where these options make RocksDB brake.
LsmGeometry GeometryOf(const rocksdb::ColumnFamilyOptions& options);

// L0 is compacted together with all of L1, so where it is much smaller than L1 when its compaction begins, most of the
// work rewrites L1. Where the program left it at 1, as many buffers are flushed together as make L0 about as large as
// L1, RocksDB's own advice, and at most half of the buffers; those that wait for the others come on top. In the storm recipe two: bulk work of 5.2 becomes 6.7 MB/s,
// with half as many files in L0. RocksDB's defaults match already and stay as they are.
void MatchL0ToL1(rocksdb::ColumnFamilyOptions* options);

// Slowdown and stop by twice the span from trigger to slowdown (12, 20 become 28, 36 with trigger 4), the limits of
// debt by 8, the number of write buffers by 2. Left in place, the same controller still stalled for 23 s of 60.
void MoveBrakesOutwards(rocksdb::ColumnFamilyOptions* options);

}  // namespace weir
