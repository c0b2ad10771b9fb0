// RocksDbThrottle: the throttle of one RocksDB, as one object.
//
//   auto prepared = weir::PrepareRocksDb(memory_target_bytes, &options);  // before DB::Open; check it
//   auto throttle = weir::RocksDbThrottle::Attach(db, prepared.value());  // after it; check it
//   auto admission = throttle.value()->Admit(weir::Operation::kWrite, {batch.GetDataSize()});
//   admission.Wait();
//   if (admission.admitted()) db->Write({}, &batch);
//
// It owns the monitor and the limiter and runs their threads. It must end before the database and its handles are
// closed, and after its Admissions.
//
// Threads: every function may be called from any thread.
#pragma once

#include <memory>
#include <vector>

#include "monitors/rocksdb_monitor.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

struct RocksDbThrottleOptions {
  std::vector<rocksdb::ColumnFamilyHandle*> handles;  // owned by the caller; empty: the default column family
  RocksDbMonitorSettings monitor;
  LimiterSettings limiter;
};

class RocksDbThrottle {
 public:
  using Options = RocksDbThrottleOptions;

  // Attaches to a database with options from PrepareRocksDb. Refuses settings that contradict each other, a column
  // family without level compaction, and brakes that were moved out of the way of a limiter that may be off or may
  // open.
  static Result<std::unique_ptr<RocksDbThrottle>> Attach(rocksdb::DB* db, const PreparedRocksDb& prepared,
                                                         const Options& options = {});
  // Attaches to a database that was opened without PrepareRocksDb.
  static Result<std::unique_ptr<RocksDbThrottle>> Attach(rocksdb::DB* db, uint64_t memory_target_bytes,
                                                         const Options& options = {});
  ~RocksDbThrottle();

  // The same as in AdaptiveLimiter.
  Admission Admit(Operation operation, Cost cost, Party party = {}) { return limiter_.Admit(operation, cost, party); }
  Duration MaybeThrottle(Operation operation, Cost cost = {.bytes = 1024}, Party party = {}) {
    return limiter_.MaybeThrottle(operation, cost, party);
  }
  LimiterView View() const { return limiter_.View(); }

  // Refuses all waiters ("stopped") and lets all other work pass. The monitor goes on.
  void Stop() { limiter_.Stop(); }

  RocksDbMonitor& monitor() { return *monitor_; }
  AdaptiveLimiter& limiter() { return limiter_; }

 private:
  RocksDbThrottle(std::unique_ptr<RocksDbMonitor> monitor, const LimiterSettings& settings);
  template <typename Opened>
  static Result<std::unique_ptr<RocksDbThrottle>> AttachTo(rocksdb::DB* db, const Opened& opened,
                                                           const Options& options);

  const std::unique_ptr<RocksDbMonitor> monitor_;
  AdaptiveLimiter limiter_;
};

}  // namespace weir
