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
// RocksDB brakes. With EngineBrakes::kMoved it also makes L0 match L1 in size, and moves RocksDB's own brakes to higher
// figures, where they stay as a safety net (lsm_geometry.h). L0 keeps its size with atomic_flush, and if the program's
// WriteBufferManager stops writers and has no room for memtables that wait to be flushed together; memtables then also
// take their memory in smaller blocks (buffer_fit.h). With kMoved the listener gives RocksDB's compaction threads a
// nice value of 5; these threads belong to the Env, so other databases of the process use them, too. All other options
// stay as the program set them.
//
// Options may be prepared again: the same ones, or ones that RocksDB stored and LoadLatestOptions loaded.
// PrepareRocksDb first takes its earlier changes back, so the result is that of the first time (rocksdb_mark.h).
// Options that were changed in between keep their new values. With EngineBrakes::kAsSet, prepared options get the
// program's own brakes back. Options without a mark that look as if an older weir had prepared them count as prepared
// (rocksdb_unmarked.h). Those of a program may look so if it sets the limits of debt to exactly 512 GiB and 2 TiB, so
// do not choose this pair.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
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
// the program set them, and weir merges no flushes.
enum class EngineBrakes { kMoved, kAsSet };

// The parts of PrepareRocksDb that a program may choose.
struct RocksDbPreparation {
  EngineBrakes brakes = EngineBrakes::kMoved;
  // The nice value of RocksDB's compaction threads, 0 to 19; 0: they keep their priority. If there is no value, it is 5
  // with moved brakes, and otherwise 0: compactions may yield only if a limiter keeps writes at their pace. A program
  // that raises the nice value of its own threads chooses a higher one, so that they still go first.
  std::optional<int> compaction_nice;
  // The setting by which an operator chooses the memory target, for the error that the target is too small. Empty: the
  // error names none.
  std::string target_setting;
};

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
// small for the caches (PlanMemory), if a family has no compaction (kCompactionStyleNone), or if a nice value is out of
// its range; the options are then unchanged. Also returns an error if the program's WriteBufferManager stops all
// writers when it is full (allow_stall), and memory that it does not flush may fill half of it (buffer_fit.h).
//
// A block cache of RocksDB's default size (8 MiB until 8.1, 32 MiB from 8.2 on) counts as not set by the program:
// RocksDB makes a cache of that size if none was set, and weir cannot tell the two apart.
Result<PreparedRocksDb> PrepareRocksDb(uint64_t target_bytes, rocksdb::Options* options,
                                       const RocksDbPreparation& preparation = {});
Result<PreparedRocksDb> PrepareRocksDb(uint64_t target_bytes, rocksdb::DBOptions* db_options,
                                       std::vector<rocksdb::ColumnFamilyDescriptor>* column_families,
                                       const RocksDbPreparation& preparation = {});

// Returns an error if the column family `family` has kCompactionStyleNone: then weir does not know how fast files leave
// L0. Level and universal compaction are sensed in full. A family with FIFO compaction never brakes for L0 or debt, so
// only its memtables count.
Status CheckCompaction(const rocksdb::ColumnFamilyOptions& options, const std::string& family);

// Returns true if the table of these options has the block cache that RocksDB makes if the program set none.
bool HasDefaultCache(const rocksdb::ColumnFamilyOptions& options);

// Returns the brakes as these options have them, without RocksDB's corrections.
LsmBrakes BrakesIn(const rocksdb::ColumnFamilyOptions& options);

// Returns true if the buffers and brakes of these options are those of the geometry.
bool HasBrakesOf(const LsmGeometry& geometry, const rocksdb::ColumnFamilyOptions& options);

// Returns the geometry that RocksDB has with these options: its sizes, and the points at which it brakes. For prepared
// options whose brakes are where weir moved them, this is the geometry that they were prepared with.
LsmGeometry GeometryOf(const rocksdb::ColumnFamilyOptions& options);
// Returns the geometry of the same figures as if the program had set them all, whatever PrepareRocksDb moved.
LsmGeometry GeometryAsSet(const rocksdb::ColumnFamilyOptions& options);

}  // namespace weir
