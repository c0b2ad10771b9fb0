// RocksDbProbe: the LoadProbe of RocksDbMonitor, which owns it. It reads the properties and counters of the database
// and makes signals from them.
//
// Two mutexes. A sample holds db_mutex_ and calls only functions of RocksDB that return at once. Functions that may
// stand behind delayed writers (DB::Flush, DB::SetOptions) or wait for the disk are called with change_mutex_ alone, so
// samples go on meanwhile. Detach and the end of a handle take both: the database must not go while it is called.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/birth_process.h"
#include "config/mutex.h"
#include "monitors/escape_watch.h"
#include "monitors/lsm_engine.h"
#include "monitors/memory_probe.h"
#include "monitors/own_bytes.h"
#include "monitors/rocksdb_brakes.h"
#include "monitors/rocksdb_buffers.h"
#include "monitors/rocksdb_counters.h"
#include "monitors/rocksdb_listener.h"
#include "monitors/rocksdb_monitor.h"

namespace weir {

class RocksDbProbe final : public LoadProbe {
 public:
  // There must be at least one handle. `prepared` is nullptr if the database was not prepared.
  RocksDbProbe(rocksdb::DB* db, const RocksDbMonitor::Handles& handles, const PreparedRocksDb* prepared,
               uint64_t target_bytes, const RocksDbMonitorSettings& settings);
  ~RocksDbProbe() override { Detach(); }

  Status Probe(TimePoint now, LoadSample* sample) override;
  Status Flush() override;
  Status FlushLargest() override;
  void Adjust() override;
  bool MustAdjust() const override { return must_adjust_; }
  void SetCacheShare(double share) override;
  bool AdvisesToThrottleWrites(const LoadSample& sample) const override;
  bool AdvisesToThrottleReads(const LoadSample& sample) const override;

  // These act as in RocksDbMonitor; PlaceBrakes is MoveBrakes or GiveBrakesBack.
  void Detach();
  bool attached() const { return !forgotten_ && !IsLogGone(); }
  Status AddFamily(rocksdb::ColumnFamilyHandle* handle);
  Status RemoveFamily(rocksdb::ColumnFamilyHandle* handle);
  Status PlaceBrakes(bool moved);
  OwnBytes& own() { return own_; }
  RocksDbDetails Details() const;

 private:
  struct Family : LsmFamily {
    using LsmFamily::LsmFamily;

    rocksdb::ColumnFamilyHandle* handle = nullptr;
    LsmBrakes prepared_brakes;   // the brakes as PrepareRocksDb put them
    LsmGeometry seen;            // that of RocksDB's options when they were last read
    LsmBrakes seen_brakes;       // the brakes in them
    bool moves_brakes = false;   // PrepareRocksDb moved the brakes, and the program has not set them since
    bool lifted_brakes = false;  // the brakes are out of reach, because of a bulk load (RocksDbMonitor::MoveBrakes)
    std::optional<LsmBrakes> in_change;  // the brakes to which the probe changes the options at this moment
  };

  Status ProbeLocked(TimePoint now, LoadSample* sample) WEIR_REQUIRES(db_mutex_);
  // Makes the probe forget the database.
  void Forget() WEIR_REQUIRES(db_mutex_);
  // Returns true if the database is known to be closed.
  bool IsClosed() const WEIR_REQUIRES(db_mutex_);
  bool IsLogGone() const { return log_ && log_->expired(); }
  static Status Closed() { return Status::Error("database closed"); }
  void HandleDeleted(const rocksdb::ColumnFamilyHandle* handle);

  Status AddFamilyLocked(rocksdb::ColumnFamilyHandle* handle) WEIR_REQUIRES(db_mutex_);
  std::vector<Family>::iterator Find(uint32_t id) WEIR_REQUIRES(db_mutex_);
  // Must be called after a family was added, removed or changed.
  void FamiliesChanged() WEIR_REQUIRES(db_mutex_);
  // Notices what the program changed by SetOptions.
  void NoticeOptions(Family* family) WEIR_REQUIRES(db_mutex_);
  // Does that, and asks for a call of Adjust if the brakes must follow.
  void FollowOptions(Family* family) WEIR_REQUIRES(db_mutex_);
  bool ShouldLift(const Family& family) const WEIR_REQUIRES(db_mutex_);
  // Decides where the brakes of the family belong, and returns the changes that put them there. Sets Family::in_change
  // if there are any.
  OptionChanges DecideBrakes(Family* family) WEIR_REQUIRES(db_mutex_);
  // Puts the brakes of all families where they belong.
  Status PlaceAllBrakes() WEIR_REQUIRES(change_mutex_);
  Status Change(rocksdb::DB* db, const FamilyChanges& changes) WEIR_REQUIRES(change_mutex_);

  // Returns the bytes of flushed memtables that are still in memory, as history or because a reader uses them.
  uint64_t KeptBytes() const WEIR_REQUIRES(db_mutex_);
  std::vector<rocksdb::ColumnFamilyHandle*> LargestFamilies() WEIR_REQUIRES(db_mutex_);
  Status FlushAll(rocksdb::DB* db, const std::vector<rocksdb::ColumnFamilyHandle*>& handles)
      WEIR_REQUIRES(change_mutex_);
  // Sets the cache's size to its present share, with room for its pinned bytes.
  void FitCache() WEIR_REQUIRES(db_mutex_);
  // Changes whenever a figure of a family may have changed: with each write, and with each flush, compaction, ingestion
  // and change of options, all of which make a new super version of the family. (With unordered_write, a write may
  // still fill the memtable after it has shown here. The bytes of a memtable that is not full limit nothing at rest.)
  struct Version {
    uint64_t sequence_number = 0;
    uint64_t super_versions = 0;  // sum over all families
    bool operator==(const Version&) const = default;
  };

  // Reads the cheap properties, at every sample. Leaves out those of the families if the database rests.
  Status ReadDatabase() WEIR_REQUIRES(db_mutex_);
  Status ReadFamilies() WEIR_REQUIRES(db_mutex_);
  Result<LsmReading> ReadFamily(const Family& family) const WEIR_REQUIRES(db_mutex_);
  Status CountRunsBelowL0(const Family& family, uint64_t* runs) const WEIR_REQUIRES(db_mutex_);
  // Reads the expensive counters. Probe calls it when they are due, but not again while the database rests.
  Status ReadAllCounters(TimePoint now) WEIR_REQUIRES(db_mutex_);
  void ReadMemoryParts(TimePoint now) WEIR_REQUIRES(db_mutex_);

  void AddEngineSignals(TimePoint now, LoadSample* sample) WEIR_REQUIRES(db_mutex_);
  void AddBuffers(TimePoint now, LoadSample* sample) WEIR_REQUIRES(db_mutex_);
  void AddMemorySignals(const MemoryUse& use, LoadSample* sample);
  uint64_t Escapes() const WEIR_REQUIRES(db_mutex_);
  void TellOfEscapes(TimePoint now, const LoadSample& sample) WEIR_REQUIRES(db_mutex_);
  void Publish(const LoadSample& sample, const MemoryUse& use) WEIR_REQUIRES(db_mutex_);

  const RocksDbMonitorSettings settings_;
  const uint64_t target_bytes_;
  OwnBytes own_;
  const BirthProcess birth_;
  const std::map<std::string, LsmGeometry> prepared_;  // by the name of the column family; empty: it was not prepared
  const std::shared_ptr<RocksDbListener> listener_;    // that of the database; null: it has none
  const std::shared_ptr<rocksdb::Cache> block_cache_;  // null: there is none, or the database was not prepared
  const size_t full_cache_bytes_;

  Mutex change_mutex_;      // lock it before db_mutex_
  mutable Mutex db_mutex_;  // never held during a call that may wait
  std::atomic<bool> must_adjust_{false};
  std::atomic<bool> forgotten_{false};
  double cache_share_ WEIR_GUARDED_BY(db_mutex_) = 1;
  rocksdb::DB* db_ WEIR_GUARDED_BY(db_mutex_);               // null: closed or detached
  const rocksdb::ColumnFamilyHandle* const default_handle_;  // RocksDB deletes it when the database is closed
  // Usually only the database owns its log, so the log tells whether the database was deleted.
  const std::optional<std::weak_ptr<rocksdb::Logger>> log_;
  std::vector<Family> families_ WEIR_GUARDED_BY(db_mutex_);
  // True with atomic_flush: without a log, the database after a crash has only what was flushed together.
  const bool flushes_together_;
  const std::shared_ptr<rocksdb::RateLimiter> io_limiter_;  // may be null
  RocksDbBuffers buffers_;
  SharedBuffersSignal buffers_signal_ WEIR_GUARDED_BY(db_mutex_);
  LsmEngine engine_ WEIR_GUARDED_BY(db_mutex_);
  MemoryProbe memory_ WEIR_GUARDED_BY(db_mutex_);
  // The version when the families and when the counters were read. Null if the database did not rest then (it flushed,
  // compacted or braked), or if they must be read again, because the families or their options changed.
  std::optional<Version> seen_version_ WEIR_GUARDED_BY(db_mutex_);
  std::optional<Version> counted_version_ WEIR_GUARDED_BY(db_mutex_);
  std::optional<TimePoint> last_table_readers_ WEIR_GUARDED_BY(db_mutex_);
  EscapeWatch escape_watch_ WEIR_GUARDED_BY(db_mutex_);
  bool places_brakes_ WEIR_GUARDED_BY(db_mutex_) = false;       // between MoveBrakes and GiveBrakesBack
  std::vector<std::string> events_ WEIR_GUARDED_BY(db_mutex_);  // for RocksDbMonitorSettings::on_event
  RocksDbDetails newest_ WEIR_GUARDED_BY(db_mutex_);            // becomes details_ when the sample is good

  mutable Mutex details_mutex_;
  RocksDbDetails details_ WEIR_GUARDED_BY(details_mutex_);
};

}  // namespace weir
