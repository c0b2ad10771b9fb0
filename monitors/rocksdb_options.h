// PrepareRocksDb: prepares the options of a RocksDB that weir is to throttle, before the program opens it.
//
//   rocksdb::Options options;                                   // the program's own
//   auto prepared = weir::PrepareRocksDb(target_bytes, &options);
//   if (!prepared.ok()) …
//   rocksdb::DB::Open(options, path, &db);
//   weir::RocksDbMonitor monitor(db, {}, prepared.value());
//
// PrepareRocksDb gives all column families one block cache and one WriteBufferManager that is charged to the cache,
// unless the program set its own; their sizes come from the memory target. It adds a listener that counts how often
// RocksDB brakes. With EngineBrakes::kMoved it also makes L0 match L1 in size (not with atomic_flush), and moves
// RocksDB's own brakes to higher figures, where they stay as a safety net (lsm_geometry.h). The listener then gives
// RocksDB's compaction threads a nice value of 5; these threads belong to the Env, so other databases of the process
// use them, too. All other options stay as the program set them.
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

// kMoved: the brakes are moved to figures so high that a limiter acts before them. Then a limiter must run as long as
// the program writes to the database: without one, moved brakes are worse than untouched ones (in the storm recipe, the
// usual engine of bench/storm, an interactive write's p99.9 is 2,687 ms instead of 1,016). kAsSet: the brakes stay as
// the program set them, weir merges no flushes, and compactions keep their priority.
enum class EngineBrakes { kMoved, kAsSet };

class RocksDbListener;

// The facts that the monitor must know about a prepared database. Copies share the cache, the manager and the listener.
struct PreparedRocksDb {
  uint64_t target_bytes = 0;
  MemoryBudget budget;
  // Null if the program wants no block cache. While memory is short the throttle shrinks the cache, even one that the
  // program set; later the cache gets its full size again.
  std::shared_ptr<rocksdb::Cache> block_cache;
  std::shared_ptr<rocksdb::WriteBufferManager> write_buffer_manager;
  std::shared_ptr<RocksDbListener> listener;
  std::map<std::string, LsmGeometry> geometry;  // by the name of the column family
};

// Changes the options for weir and returns the facts that the monitor must know. Returns an error if the target is too
// small for the caches (PlanMemory), if a family has neither level nor universal compaction, or if the options were
// prepared before; the options are then unchanged.
//
// A block cache of RocksDB's default size (8 MiB until 8.1, 32 MiB from 8.2 on) counts as not set by the program:
// RocksDB makes a cache of that size if none was set, and weir cannot tell the two apart.
Result<PreparedRocksDb> PrepareRocksDb(uint64_t target_bytes, rocksdb::Options* options,
                                       EngineBrakes brakes = EngineBrakes::kMoved);
Result<PreparedRocksDb> PrepareRocksDb(uint64_t target_bytes, rocksdb::DBOptions* db_options,
                                       std::vector<rocksdb::ColumnFamilyDescriptor>* column_families,
                                       EngineBrakes brakes = EngineBrakes::kMoved);

// Returns an error if the column family `family` has neither level nor universal compaction: with another style, weir
// does not know how near the family is to its brakes.
Status CheckCompaction(const rocksdb::ColumnFamilyOptions& options, const std::string& family);

// Returns the geometry that RocksDB has with these options: its sizes, and the points at which it brakes.
LsmGeometry GeometryOf(const rocksdb::ColumnFamilyOptions& options);

}  // namespace weir
