// Prepares the options of a RocksDB that weir is to hold, before it is opened.
//
//   rocksdb::Options options;                                   // the program's own
//   auto prepared = weir::PrepareRocksDb(target_bytes, &options);
//   if (!prepared.ok()) …
//   rocksdb::DB::Open(options, path, &db);
//   weir::RocksDbMonitor monitor(db, {}, prepared.value());
//
// What it does: one block cache and one WriteBufferManager charged to it, sized from the target, for all column
// families, each only where the program set none; files in L0 that match L1, and RocksDB's own brakes moved outwards,
// where they stay as a safety net (lsm_geometry.h); a listener that counts how often they are reached, and makes the
// threads that compact (of the Env, so those of other databases too) five nicer. Everything else is the program's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/status.h"
#include "monitors/lsm_geometry.h"
#include "monitors/memory_target.h"
#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksdb/write_buffer_manager.h"

namespace weir {

// kMoved: out of the way of a limiter, which has to be there for as long as the database is written to; without one
// they are worse than left alone (in the storm recipe an interactive write's p99.9 is 2,687 ms instead of 1,016).
// kAsSet: where the program has them, and no flushes are merged.
enum class EngineBrakes { kMoved, kAsSet };

class RocksDbListener;

// What the monitor must know about a prepared database. Copies share cache and listener.
struct PreparedRocksDb {
  uint64_t target_bytes = 0;
  MemoryBudget budget;
  // Null where the program wants none. While memory is short the throttle shrinks it, whoever set it, and gives back
  // what it took.
  std::shared_ptr<rocksdb::Cache> block_cache;
  std::shared_ptr<rocksdb::WriteBufferManager> write_buffer_manager;
  std::shared_ptr<RocksDbListener> listener;
  // By column family.
  std::map<std::string, LsmGeometry> geometry;
};

// A column family's block cache is taken as set by the program unless it has RocksDB's default size (8 MiB until 8.1,
// 32 MiB from 8.2 on): RocksDB puts a cache of that size where none was set, and the two cannot be told apart. Level
// and universal compaction are taken.
Result<PreparedRocksDb> PrepareRocksDb(uint64_t target_bytes, rocksdb::Options* options,
                                       EngineBrakes brakes = EngineBrakes::kMoved);
Result<PreparedRocksDb> PrepareRocksDb(uint64_t target_bytes, rocksdb::DBOptions* db_options,
                                       std::vector<rocksdb::ColumnFamilyDescriptor>* column_families,
                                       EngineBrakes brakes = EngineBrakes::kMoved);

// Whether these can be sensed: what the others' L0 means, and what they drain, is not known.
Status CheckCompaction(const rocksdb::ColumnFamilyOptions& options, const std::string& family);

// Where these options make RocksDB brake.
LsmGeometry GeometryOf(const rocksdb::ColumnFamilyOptions& options);

}  // namespace weir
