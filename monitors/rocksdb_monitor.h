// RocksDbMonitor: how a RocksDB feels, for the throttle.
//
//   weir::RocksDbMonitor monitor(db, handles, prepared);      // opened with PrepareRocksDb (rocksdb_options.h), or
//   weir::RocksDbMonitor monitor(db, handles, target_bytes);  // opened by somebody else's options
//   monitor.Start();
//   …
//   monitor.Detach();  // before the database or a handle is closed
//
// Signals, each the highest of the column families:
//   memtables  how near RocksDB is to braking because flushes lag
//   l0         the same for files in L0, as an envelope over the compactions that empty it (drain_envelope.h)
//   score      how far the levels below are beyond their size, over about 10 s; shown, does not act
//   debt       bytes that wait for compaction against RocksDB's soft limit
//   own        what the program reported by AddOwnBytes, against its budget
//   memory     of the whole process against the target
// A level of 1.0 is where RocksDB begins to brake; in a prepared database, whose brakes were moved outwards, the middle
// between where it would have slowed down and where it would have stopped (lsm_geometry.h).
//
// Closing: the monitor calls the database every sample, so the database must outlive the sampling. Detach waits for a
// sample that is being taken; after it no call of the monitor touches the database, and sampling fails with "database
// closed". The destructor detaches. The options of a database that was not prepared are read once, when attaching.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "monitors/load_monitor.h"
#include "monitors/lsm_signals.h"
#include "monitors/memory_probe.h"
#include "monitors/rocksdb_counters.h"
#include "monitors/rocksdb_options.h"

namespace weir {

struct RocksDbMonitorSettings {
  MonitorSettings monitor;
  uint64_t l0_threshold = 6;     // files, for the advice of ShouldThrottleWrites
  double score_threshold = 1.5;  // where `score` is 1.0
  uint64_t own_budget_mb = 0;    // 0: an eighth of the memory target
};
// With those of `monitor`.
void Declare(SettingTable& table, RocksDbMonitorSettings& settings);

// What stands behind the newest sample, for displays. Sums over column families but where it says highest.
struct RocksDbDetails {
  uint64_t l0_files = 0;  // highest
  uint64_t immutable_memtables = 0;
  uint64_t debt_bytes = 0;
  double score = 0;  // highest of the levels below 0
  double l0_cycle_seconds = 0;
  double drain_bytes_per_second = 0;  // these two as the program wrote them, the third on disk
  double flush_bytes_per_second = 0;
  double background_bytes_per_second = 0;
  double disk_per_user_byte = 1;
  double delayed_bytes_per_second = 0;  // the rate that RocksDB holds writers to; 0: none
  bool writes_stopped = false;

  MemoryUse memory;
  uint64_t memory_target_bytes = 0;
  // RocksDB's parts of it; memtables may be charged to the block cache and are then in both.
  uint64_t block_cache_bytes = 0;
  uint64_t pinned_bytes = 0;
  uint64_t memtable_bytes = 0;
  uint64_t table_reader_bytes = 0;
  uint64_t own_bytes = 0;

  uint64_t slowdowns = 0;  // RocksDB's counters: how often each was recomputed, not how often it began
  uint64_t stops = 0;
  std::map<std::string, uint64_t> stall_causes;
};

class RocksDbMonitor final : public LoadMonitor {
 public:
  // Without handles: the default column family. Handles stay the caller's.
  RocksDbMonitor(rocksdb::DB* db, std::vector<rocksdb::ColumnFamilyHandle*> handles, const PreparedRocksDb& prepared,
                 RocksDbMonitorSettings settings = {}, const Clock& clock = Clock::System());
  RocksDbMonitor(rocksdb::DB* db, std::vector<rocksdb::ColumnFamilyHandle*> handles, uint64_t memory_target_bytes,
                 RocksDbMonitorSettings settings = {}, const Clock& clock = Clock::System());
  ~RocksDbMonitor() override;

  void Detach();

  // Memory of the program that grows with its load (queues, pinned iterators, output buffers): added when taken, taken
  // off when given back. One relaxed atomic addition.
  void AddOwnBytes(int64_t bytes) { own_bytes_.fetch_add(bytes, std::memory_order_relaxed); }

  RocksDbDetails Details() const;

  bool ShouldThrottleWrites() const override;
  bool ShouldThrottleReads() const override;

 private:
  struct Family {
    rocksdb::ColumnFamilyHandle* handle;
    LsmGeometry geometry;
    LsmSignals signals;
    LsmFacts facts;  // its own; the sums over all are added for each sample
    bool flush_pending = false;
    bool compaction_pending = false;
    bool counted = false;
    RocksDbCounters counters;  // as of the last reading
  };

  RocksDbMonitor(rocksdb::DB* db, std::vector<rocksdb::ColumnFamilyHandle*> handles, const PreparedRocksDb* prepared,
                 uint64_t target_bytes, const RocksDbMonitorSettings& settings, const Clock& clock);

  Status Probe(TimePoint now, LoadSample* sample) override;
  Status Flush() override;

  // The cheap properties, at every sample.
  Status ReadDatabase();
  Status ReadFamily(Family* family);
  // Once a second.
  Status ReadAllCounters();
  void ReadMemoryParts(TimePoint now);

  void AddEngineSignals(TimePoint now, LoadSample* sample);
  void AddMemorySignals(const MemoryUse& use, LoadSample* sample);
  uint64_t Escapes() const;
  uint64_t OwnBytes() const;
  double ScoreLevel() const;
  void Publish(const LoadSample& sample, const MemoryUse& use);

  const RocksDbMonitorSettings engine_settings_;
  const uint64_t target_bytes_;
  const uint64_t own_budget_bytes_;
  const std::shared_ptr<RocksDbListener> listener_;  // null: attached
  std::atomic<int64_t> own_bytes_{0};

  std::mutex db_mutex_;  // for db_ and all below up to details_mutex_; held while the database is asked
  rocksdb::DB* db_;
  std::vector<Family> families_;
  const std::shared_ptr<rocksdb::RateLimiter> io_limiter_;  // may be null
  DiskRatio disk_ratio_;
  LsmFacts sums_;              // over the families: what runs, and what was done since attaching
  double left_memtables_ = 0;  // user bytes, up to a constant
  MemoryProbe memory_;
  TimePoint last_counters_{};
  TimePoint last_table_readers_{};
  bool l0_changed_ = false;    // otherwise than by the flush of one memtable
  uint64_t first_brakes_ = 0;  // RocksDB's count when attaching
  uint64_t seen_brakes_ = 0;   // times that a sample found it braking
  bool braking_ = false;
  RocksDbDetails newest_;

  mutable std::mutex details_mutex_;
  RocksDbDetails details_;
};

}  // namespace weir
