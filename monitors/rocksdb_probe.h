// The probe of RocksDbMonitor: what it asks the database, when, and how it makes the signals.
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
    LsmFacts facts;  // the family's own; the sums over all are added for each sample
    bool flush_pending = false;
    bool compaction_pending = false;
    bool counted = false;
    RocksDbCounters counters;        // from the last reading
    uint64_t counted_memtables = 0;  // bytes at that time
    DiskRatio table_share;           // tables' share of flushed bytes: the rest is in blob files
  };

  void FitCache();
  // Reads the cheap properties, at every sample.
  Status ReadDatabase();
  Status ReadFamily(Family* family);
  Status CountRunsBelowL0(const Family& family, uint64_t* runs) const;
  // Called once a second, or sooner after L0 was emptied.
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
  const std::shared_ptr<rocksdb::Cache> block_cache_;  // null: none, or not prepared
  const size_t full_cache_bytes_;
  double cache_share_ = 1;  // protected by db_mutex_

  std::mutex db_mutex_;  // protects db_ and all below up to details_mutex_; held while the database is asked
  rocksdb::DB* db_;
  std::vector<Family> families_;
  const std::shared_ptr<rocksdb::RateLimiter> io_limiter_;  // may be null
  DiskRatio disk_ratio_;
  LsmFacts sums_;              // over the families: the work that runs, and the bytes since attaching
  double left_memtables_ = 0;  // user bytes that did, up to a constant
  MemoryProbe memory_;
  WriteBurst burst_;
  std::optional<TimePoint> last_counters_;
  std::optional<TimePoint> last_table_readers_;
  bool l0_changed_ = false;    // since the counters were read, by more than the flush of one memtable
  uint64_t first_brakes_ = 0;  // RocksDB's count when attaching
  uint64_t seen_brakes_ = 0;   // times that a sample first found it braking
  bool braking_ = false;
  RocksDbDetails newest_;

  mutable std::mutex details_mutex_;
  RocksDbDetails details_;
};

}  // namespace weir
