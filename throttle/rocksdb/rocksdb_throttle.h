// RocksDbThrottle: throttles the work on one RocksDB. It is an AdaptiveLimiter (throttle/adaptive_limiter.h) together
// with the monitor that feeds it.
//
//   auto prepared = weir::PrepareRocksDb(memory_target_bytes, &options);  // before DB::Open; check it
//   auto throttle = weir::RocksDbThrottle::Attach(db, prepared.value());  // after it; check it
//   auto admission = throttle.value()->Admit(weir::Operation::kWrite, {batch.GetDataSize()});
//   admission.Wait();
//   if (admission.admitted()) db->Write({}, &batch);
//
// A RocksDbThrottle owns its monitor and its limiter and runs their threads. Destroy it before the database and its
// handles are closed, and after the Admissions that it returned.
//
// Threads: every function may be called from any thread, except that Stop and the destructor must not be called from a
// function passed to Admission::OnSettled.
#pragma once

#include <memory>
#include <vector>

#include "monitors/rocksdb_monitor.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

struct RocksDbThrottleOptions {
  std::vector<rocksdb::ColumnFamilyHandle*> handles;  // the caller owns them; empty: the default column family
  RocksDbMonitorSettings monitor;
  LimiterSettings limiter;
};

class RocksDbThrottle {
 public:
  using Options = RocksDbThrottleOptions;

  // Attaches to a database that was opened with options from PrepareRocksDb, and starts the threads of the monitor and
  // the limiter. Returns an error if a setting is out of its range, if settings contradict each other, or if the
  // database and the handles are not those that were prepared (RocksDbMonitor). Also returns an error if PrepareRocksDb
  // moved RocksDB's brakes out of the way (EngineBrakes) but the limiter is off or may open its gates
  // (LimiterSettings::ReplacesBrakes).
  static Result<std::unique_ptr<RocksDbThrottle>> Attach(rocksdb::DB* db, const PreparedRocksDb& prepared,
                                                         const Options& options = {});
  // Does the same for a database that was opened without PrepareRocksDb. The program may use up to
  // `memory_target_bytes` of memory.
  static Result<std::unique_ptr<RocksDbThrottle>> Attach(rocksdb::DB* db, uint64_t memory_target_bytes,
                                                         const Options& options = {});
  ~RocksDbThrottle();

  // These act as in AdaptiveLimiter.
  Admission Admit(Operation operation, Cost cost, Party party = {}) { return limiter_.Admit(operation, cost, party); }
  Duration MaybeThrottle(Operation operation, Cost cost = {.bytes = 1024}, Party party = {}) {
    return limiter_.MaybeThrottle(operation, cost, party);
  }
  LimiterView View() const { return limiter_.View(); }

  // Refuses all waiting requests with the reason "stopped" and lets all later work pass. The monitor keeps running.
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
