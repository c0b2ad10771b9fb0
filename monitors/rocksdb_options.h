// Prepares the options of a RocksDB that weir is to throttle, before it is opened.
//
//   rocksdb::Options options;                                   // the program's own
//   auto prepared = weir::PrepareRocksDb(target_bytes, &options);
//   if (!prepared.ok()) …
//   rocksdb::DB::Open(options, path, &db);
//   weir::RocksDbMonitor monitor(db, {}, prepared.value());
//
// It gives all column families one block cache and one WriteBufferManager charged to it, sized from the target, each
// only if the program set none. It makes files in L0 match L1 and moves RocksDB's own brakes outwards, where they stay
// as a safety net (lsm_geometry.h). It adds a listener that counts how often they are reached, and that gives the
// threads that compact (the Env's, so other databases' too) a nice value of 5. Everything else is the program's.
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

// kMoved: out of the way of a limiter, which has to be there for as long as the database is written to. Without a
// limiter moved brakes are worse than untouched ones (in the storm recipe an interactive write's p99.9 is 2,687 ms
// instead of 1,016). kAsSet: as the program set them, and no flushes are merged.
enum class EngineBrakes { kMoved, kAsSet };

class RocksDbListener;

// The facts that the monitor must know about a prepared database. Copies share cache and listener.
struct PreparedRocksDb {
  uint64_t target_bytes = 0;
  MemoryBudget budget;
  // Null if the program wants none. While memory is short the throttle shrinks the cache, even one that the program
  // set, and gives back later what it took.
  std::shared_ptr<rocksdb::Cache> block_cache;
  std::shared_ptr<rocksdb::WriteBufferManager> write_buffer_manager;
  std::shared_ptr<RocksDbListener> listener;
  // By column family.
  std::map<std::string, LsmGeometry> geometry;
};

// A column family's block cache is taken as set by the program unless it has RocksDB's default size (8 MiB until 8.1,
// 32 MiB from 8.2 on): RocksDB makes a cache of that size if none was set, and the two cannot be told apart. Accepts
// level and universal compaction.
Result<PreparedRocksDb> PrepareRocksDb(uint64_t target_bytes, rocksdb::Options* options,
                                       EngineBrakes brakes = EngineBrakes::kMoved);
Result<PreparedRocksDb> PrepareRocksDb(uint64_t target_bytes, rocksdb::DBOptions* db_options,
                                       std::vector<rocksdb::ColumnFamilyDescriptor>* column_families,
                                       EngineBrakes brakes = EngineBrakes::kMoved);

// Returns an error if the compaction style cannot be sensed: of styles other than level and universal it is not known
// what L0 means and what they drain.
Status CheckCompaction(const rocksdb::ColumnFamilyOptions& options, const std::string& family);

// Returns the geometry that these options give RocksDB: its sizes, and where it brakes.
LsmGeometry GeometryOf(const rocksdb::ColumnFamilyOptions& options);

}  // namespace weir
