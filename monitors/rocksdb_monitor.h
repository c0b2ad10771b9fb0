// RocksDbMonitor: the LoadMonitor of a RocksDB. It measures how near RocksDB is to slowing down writes by itself.
//
//   weir::RocksDbMonitor monitor(db, handles, prepared);      // opened with PrepareRocksDb (rocksdb_options.h), or
//   weir::RocksDbMonitor monitor(db, handles, target_bytes);  // opened with any options
//   monitor.Start();
//   …
//   monitor.Detach();  // before the database or a handle is closed
//
// Its signals (load_sample.h); each of the first four is that of the column family in which it is highest:
//   memtables  how near RocksDB is to braking because flushes are too slow
//   l0         how near RocksDB is to braking because of the files in level 0; falls only gradually (drain_envelope.h)
//   score      how far the levels below 0 exceed their size, averaged over about 10 s; shown, limits nothing
//   debt       bytes that wait for compaction: 1.0 at the limit where RocksDB brakes, 0 up to an eighth of that
//   own        bytes that the program reported by AddOwnBytes / their budget
//   memory     memory of the whole process / the memory target
// When memtables, l0 or debt is 1.0, RocksDB begins to brake. If RocksDB never brakes for L0 or debt (automatic
// compactions are disabled, or for debt: it has no limit, or compaction is universal), the signal is 0 and limits
// nothing. The same holds for a column family with FIFO compaction: L0 is its whole tree, and only `memtables` counts.
// If PrepareRocksDb has moved the brakes, RocksDB brakes later because of memtables and L0; `l0` is then 1.0
// about midway between the numbers of files at which writes would have been slowed down and stopped
// (LsmGeometry::L0FilesAtOne).
//
// Closing: the monitor calls the database at every sample, so call Detach before the database is closed. Detach waits
// for a sample that is being taken. After Detach the monitor does not touch the database, and every sample fails with
// "database closed". The options of a database that was not prepared are read once, in the constructor.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "monitors/load_monitor.h"
#include "monitors/memory_probe.h"
#include "monitors/own_bytes.h"
#include "monitors/rocksdb_counters.h"
#include "monitors/rocksdb_options.h"

namespace weir {

struct RocksDbMonitorSettings {
  MonitorSettings monitor;
  uint64_t l0_threshold = 6;     // files, for the advice of ShouldThrottleWrites
  double score_threshold = 1.5;  // compaction score at which `score` is 1.0
  uint64_t own_budget_mb = 0;    // 0: an eighth of the memory target
};
// Declares the settings, those of `monitor` included.
void Declare(SettingTable& table, RocksDbMonitorSettings& settings);
// Returns an error that names the first member, those of `monitor` included, that is not within its setting's range.
Status Check(const RocksDbMonitorSettings& settings);

// The figures from which the newest good sample was computed, for displays. A figure that says "highest" is that of the
// column family in which it is highest; the others are sums over the column families, or figures of the whole database.
struct RocksDbDetails {
  uint64_t l0_files = 0;       // highest
  double l0_files_at_one = 0;  // files at which `l0` of the same family is 1.0
  uint64_t immutable_memtables = 0;
  uint64_t debt_bytes = 0;
  double score = 0;                        // highest of the levels below 0
  std::vector<RocksDbLevel> levels;        // from L0 on; each score is the highest
  double l0_cycle_seconds = 0;             // time between two compactions of L0; highest
  double drain_bytes_per_second = 0;       // drain of L0 while busy, in bytes as the program wrote them
  double flush_bytes_per_second = 0;       // drain of the memtables while busy, in bytes as the program wrote them
  double background_bytes_per_second = 0;  // speed of flushes and compactions, in bytes on disk
  double disk_per_user_byte = 1;           // bytes of flushed files for each byte that the program wrote
  double delayed_bytes_per_second = 0;     // the rate to which RocksDB limits writers; 0: it does not
  bool writes_stopped = false;

  MemoryUse memory;
  uint64_t memory_target_bytes = 0;
  // The parts of `memory` that RocksDB uses. Memtables that are charged to the block cache are in both figures.
  uint64_t block_cache_bytes = 0;
  uint64_t block_cache_limit_bytes = 0;  // lower than the full size while memory is short; 0: weir knows no cache
  uint64_t pinned_bytes = 0;             // bytes of the block cache that are in use
  uint64_t memtable_bytes = 0;
  uint64_t table_reader_bytes = 0;
  uint64_t own_bytes = 0;  // bytes that AddOwnBytes reported

  uint64_t slowdowns = 0;  // RocksDB's counters: how often it recomputed a brake, not how often one began
  uint64_t stops = 0;
  std::map<std::string, uint64_t> stall_causes;
};

class RocksDbProbe;

class RocksDbMonitor final : public LoadMonitor {
 public:
  using Handles = std::vector<rocksdb::ColumnFamilyHandle*>;

  // `handles` are the column families to watch; if empty, the default one. The caller still owns the handles and the
  // database. Throws std::invalid_argument, with the mistake and the remedy, if a setting is out of its range, if the
  // database or a handle is null, if a handle belongs to another database, or if a family has no compaction
  // (CheckCompaction). With `prepared`, the constructor also throws if the database was not opened with the prepared
  // options, or if the handle of a prepared family is missing.
  RocksDbMonitor(rocksdb::DB* db, Handles handles, const PreparedRocksDb& prepared,
                 const RocksDbMonitorSettings& settings = {}, const Clock& clock = Clock::System());
  RocksDbMonitor(rocksdb::DB* db, Handles handles, uint64_t memory_target_bytes,
                 const RocksDbMonitorSettings& settings = {}, const Clock& clock = Clock::System());

  // Makes the monitor stop using the database (see above), and restores a shrunk cache to its full size. A second call
  // does nothing.
  void Detach();

  // Reports memory of the program that grows with its load (queues, pinned iterators, output buffers): `bytes` when it
  // allocates them, and the same number below 0 when it frees them (own_bytes.h).
  void AddOwnBytes(int64_t bytes, OwnUse use = OwnUse::kHeld);
  uint64_t own_budget_bytes() const;

  // Returns the figures of the newest good sample.
  RocksDbDetails Details() const;

 private:
  RocksDbProbe& rocksdb_;  // the probe that LoadMonitor owns
};

}  // namespace weir
