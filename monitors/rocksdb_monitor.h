// RocksDbMonitor: the load of a RocksDB, for the throttle.
//
//   weir::RocksDbMonitor monitor(db, handles, prepared);      // opened with PrepareRocksDb (rocksdb_options.h), or
//   weir::RocksDbMonitor monitor(db, handles, target_bytes);  // opened with any options
//   monitor.Start();
//   …
//   monitor.Detach();  // before the database or a handle is closed
//
// Signals, each the highest of the column families:
//   memtables  how near RocksDB is to braking because flushes lag
//   l0         the same for files in L0, as an envelope over the compactions that empty it (drain_envelope.h)
//   score      how far the levels below are beyond their size, over about 10 s; shown, does not act
//   debt       bytes that wait for compaction against the limit where RocksDB really brakes
//   own        bytes that the program reported by AddOwnBytes, against its budget
//   memory     of the whole process against the target
// At a level of 1.0 RocksDB begins to brake. In a prepared database, whose brakes were moved outwards, 1.0 of `l0` is
// the middle between the files at which it would have slowed down and stopped (lsm_geometry.h).
//
// Closing: the monitor calls the database every sample, so the database must outlive the sampling. Detach waits for a
// sample that is being taken; after it no call of the monitor touches the database, and sampling fails with "database
// closed". The options of a database that was not prepared are read once, when attaching.
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
// Declares those of `monitor` too.
void Declare(SettingTable& table, RocksDbMonitorSettings& settings);

// The figures behind the newest sample, for displays. They are sums over column families unless they say highest.
struct RocksDbDetails {
  uint64_t l0_files = 0;       // highest
  double l0_files_at_one = 0;  // files at which `l0` of the same family is 1.0
  uint64_t immutable_memtables = 0;
  uint64_t debt_bytes = 0;
  double score = 0;                  // highest of the levels below 0
  std::vector<RocksDbLevel> levels;  // from L0 on; scores highest
  double l0_cycle_seconds = 0;
  double drain_bytes_per_second = 0;  // these two in bytes as the program wrote them, the third on disk
  double flush_bytes_per_second = 0;
  double background_bytes_per_second = 0;
  double disk_per_user_byte = 1;
  double delayed_bytes_per_second = 0;  // the rate that RocksDB holds writers to; 0: none
  bool writes_stopped = false;

  MemoryUse memory;
  uint64_t memory_target_bytes = 0;
  // RocksDB's parts of that memory; memtables may be charged to the block cache and are then in both.
  uint64_t block_cache_bytes = 0;
  uint64_t block_cache_limit_bytes = 0;  // below its size while memory is short; 0: weir has no cache to shrink
  uint64_t pinned_bytes = 0;
  uint64_t memtable_bytes = 0;
  uint64_t table_reader_bytes = 0;
  uint64_t own_bytes = 0;

  uint64_t slowdowns = 0;  // RocksDB's counters: how often a brake was recomputed, not how often it began
  uint64_t stops = 0;
  std::map<std::string, uint64_t> stall_causes;
};

class RocksDbProbe;

class RocksDbMonitor final : public LoadMonitor {
 public:
  using Handles = std::vector<rocksdb::ColumnFamilyHandle*>;

  // Without handles it takes the default column family. Handles stay the caller's. Throws std::invalid_argument if a
  // family has neither level nor universal compaction.
  RocksDbMonitor(rocksdb::DB* db, Handles handles, const PreparedRocksDb& prepared,
                 const RocksDbMonitorSettings& settings = {}, const Clock& clock = Clock::System());
  RocksDbMonitor(rocksdb::DB* db, Handles handles, uint64_t memory_target_bytes,
                 const RocksDbMonitorSettings& settings = {}, const Clock& clock = Clock::System());

  void Detach();

  // Reports memory of the program that grows with its load (queues, pinned iterators, output buffers): bytes when
  // taken, and below 0 when given back. Costs one relaxed atomic addition, or two for kWaiting (own_bytes.h).
  void AddOwnBytes(int64_t bytes, OwnUse use = OwnUse::kHeld);
  uint64_t own_budget_bytes() const;

  RocksDbDetails Details() const;

 private:
  RocksDbProbe& rocksdb_;  // the probe that LoadMonitor owns
};

}  // namespace weir
