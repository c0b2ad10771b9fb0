// RocksDbProbe: the LoadProbe of RocksDbMonitor, which owns it. It reads the properties and counters of the database
// and makes signals from them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "monitors/lsm_signals.h"
#include "monitors/memory_probe.h"
#include "monitors/own_bytes.h"
#include "monitors/rocksdb_counters.h"
#include "monitors/rocksdb_listener.h"
#include "monitors/rocksdb_monitor.h"
#include "monitors/write_burst.h"

namespace weir {

class RocksDbProbe final : public LoadProbe {
 public:
  // There must be at least one handle. `prepared` is nullptr if the database was not prepared.
  RocksDbProbe(rocksdb::DB* db, const RocksDbMonitor::Handles& handles, const PreparedRocksDb* prepared,
               uint64_t target_bytes, const RocksDbMonitorSettings& settings);
  ~RocksDbProbe() override { Detach(); }

  Status Probe(TimePoint now, LoadSample* sample) override;
  Status Flush() override;
  void SetCacheShare(double share) override;
  bool AdvisesToThrottleWrites(const LoadSample& sample) const override;
  bool AdvisesToThrottleReads(const LoadSample& sample) const override;

  void Detach();
  OwnBytes& own() { return own_; }
  RocksDbDetails Details() const;

 private:
  struct Family {
    rocksdb::ColumnFamilyHandle* handle;
    LsmGeometry geometry;
    LsmSignals signals;
    LsmFacts facts;  // facts of this family; AddEngineSignals adds the sums over all families to a copy
    bool flush_pending = false;
    bool compaction_pending = false;
    bool counted = false;            // true after the first ReadAllCounters
    RocksDbCounters counters;        // from the last ReadAllCounters
    uint64_t counted_memtables = 0;  // bytes in memtables at that time
    DiskRatio table_share;           // share of flushed bytes that is in tables; the rest is in blob files
  };

  // Sets the cache's size to its present share, with room for its pinned bytes.
  void FitCache();
  // Reads the cheap properties, at every sample.
  Status ReadDatabase();
  Status ReadFamily(Family* family);
  Status CountRunsBelowL0(const Family& family, uint64_t* runs) const;
  // Reads the expensive counters. Probe calls it once a second, or after 300 ms if L0 has changed.
  Status ReadAllCounters();
  void ReadMemoryParts(TimePoint now);

  void AddEngineSignals(TimePoint now, LoadSample* sample);
  void AddMemorySignals(const MemoryUse& use, LoadSample* sample);
  uint64_t Escapes() const;
  void Publish(const LoadSample& sample, const MemoryUse& use);

  const RocksDbMonitorSettings settings_;
  const uint64_t target_bytes_;
  OwnBytes own_;
  const std::shared_ptr<RocksDbListener> listener_;    // null: the database was not prepared
  const std::shared_ptr<rocksdb::Cache> block_cache_;  // null: there is none, or the database was not prepared
  const size_t full_cache_bytes_;
  double cache_share_ = 1;  // protected by db_mutex_

  std::mutex db_mutex_;  // protects the members from here to details_mutex_; held while the database answers
  rocksdb::DB* db_;
  std::vector<Family> families_;
  const std::shared_ptr<rocksdb::RateLimiter> io_limiter_;  // may be null
  DiskRatio disk_ratio_;
  LsmFacts sums_;              // sums over the families; the cumulative ones begin with the first sample
  double left_memtables_ = 0;  // bytes of the program that left the memtables, up to a constant
  MemoryProbe memory_;
  WriteBurst burst_;
  std::optional<TimePoint> last_counters_;
  std::optional<TimePoint> last_table_readers_;
  bool l0_changed_ = false;    // true if L0 lost files or got several flushes since the counters were read
  uint64_t first_brakes_ = 0;  // RocksDB's count of slowdowns and stops at the first sample
  uint64_t seen_brakes_ = 0;   // how often a sample found that RocksDB had begun to brake
  bool braking_ = false;       // true if RocksDB braked at the last sample
  RocksDbDetails newest_;      // becomes details_ when the sample is good

  mutable std::mutex details_mutex_;
  RocksDbDetails details_;
};

}  // namespace weir
