// RocksDbThrottle: throttles the work on one RocksDB. It is an AdaptiveLimiter (throttle/adaptive_limiter.h) together
// with the monitor that feeds it.
//
//   auto prepared = weir::PrepareRocksDb(memory_target_bytes, &options);  // before DB::Open; check it
//   auto throttle = weir::RocksDbThrottle::Attach(db, prepared.value());  // after it; check it
//   auto admission = throttle.value()->Admit(weir::Operation::kWrite, {batch.GetDataSize()});
//   admission.Wait();
//   if (admission.admitted()) db->Write({}, &batch);
//
// A RocksDbThrottle owns its monitor and its limiter and runs their threads.
//
// Its end. Call Detach if the database stays open; before it is closed, the destructor is enough. Destroy the throttle
// after all Admissions that wait or hold a permit: an Admission calls its throttle when it ends (admission.h).
//  * A database that was opened with options from PrepareRocksDb may be closed first (DB::Close or its destructor), and
//    its handles may be destroyed first. The throttle then stops using them, and works on with what is left.
//  * A database that was opened without PrepareRocksDb must be closed after Detach or the destructor, and a handle
//    destroyed after RemoveFamily (rocksdb_monitor.h).
//  * In a child process that fork() made, the throttle lets all work pass and never calls the database. A wait ends,
//    and Stop, Detach and the destructor return. Only these, Admit, MaybeThrottle and Admissions may be used there. End
//    the child by _exit or exec: in exit, RocksDB itself waits for threads of the parent.
//
// Threads: every function may be called from any thread, except that Stop, Detach and the destructor must not be called
// from a function passed to Admission::OnSettled, nor Detach and the destructor from RocksDbMonitorSettings::on_event.
#pragma once

#include <memory>
#include <vector>

#include "config/birth_process.h"
#include "config/mutex.h"
#include "monitors/rocksdb_monitor.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

struct RocksDbThrottleOptions {
  std::vector<rocksdb::ColumnFamilyHandle*> handles;  // the caller owns them; empty: the default column family
  // `monitor.on_event` tells the program's log when something happens that should not, mainly when RocksDB brakes
  // although the throttle limits. If it is empty, the sentence goes to stderr.
  RocksDbMonitorSettings monitor;
  LimiterSettings limiter;
};

class RocksDbThrottle {
 public:
  using Options = RocksDbThrottleOptions;

  // Attaches to a database that was opened with options from PrepareRocksDb, and calls Start. Returns an error if a
  // setting is out of its range, if settings contradict each other, if the database and the handles are not those that
  // were prepared (RocksDbMonitor), or if another throttle of this process is attached to the database. Also returns an
  // error if PrepareRocksDb moved RocksDB's brakes out of the way (EngineBrakes) but the limiter is off or may open its
  // gates (LimiterSettings::ReplacesBrakes).
  static Result<std::unique_ptr<RocksDbThrottle>> Attach(rocksdb::DB* db, const PreparedRocksDb& prepared,
                                                         const Options& options = {});
  // Does the same for a database that was opened without PrepareRocksDb. The program may use up to
  // `memory_target_bytes` of memory.
  static Result<std::unique_ptr<RocksDbThrottle>> Attach(rocksdb::DB* db, uint64_t memory_target_bytes,
                                                         const Options& options = {});
  // Ends the threads. Leaves moved brakes where they are, because the database is usually closed next, and to change
  // them takes RocksDB milliseconds for each column family.
  ~RocksDbThrottle();

  // These act as in AdaptiveLimiter.
  Admission Admit(Operation operation, Cost cost, Party party = {}) { return limiter_.Admit(operation, cost, party); }
  Duration MaybeThrottle(Operation operation, Cost cost = {.bytes = 1024}, Party party = {}) {
    return limiter_.MaybeThrottle(operation, cost, party);
  }
  LimiterView View() const { return limiter_.View(); }

  // These act as in RocksDbMonitor: call AddFamily after a column family was created, and RemoveFamily before it is
  // dropped.
  Status AddFamily(rocksdb::ColumnFamilyHandle* family) { return monitor_->AddFamily(family); }
  Status RemoveFamily(rocksdb::ColumnFamilyHandle* family) { return monitor_->RemoveFamily(family); }

  // Start moves the brakes of RocksDB to where PrepareRocksDb had moved them, if it did, and starts the threads of the
  // monitor and the limiter. It returns an error after Detach, or if RocksDB does not take the brakes.
  // Stop refuses all waiting requests with the reason "stopped", lets all later work pass, and gives the brakes back:
  // from then on RocksDB slows down and stops writes where the program's own options say. The monitor keeps running.
  // Stop returns an error if RocksDB does not take the brakes; the rest of it is done even then.
  // Both are idempotent, and a stopped throttle can be started again.
  Status Start();
  Status Stop();

  // Does what Stop does, ends the monitor, and never uses the database again. It cannot be started again, but another
  // throttle may be attached to the database.
  Status Detach();

  RocksDbMonitor& monitor() { return *monitor_; }
  AdaptiveLimiter& limiter() { return limiter_; }

 private:
  RocksDbThrottle(std::unique_ptr<RocksDbMonitor> monitor, const LimiterSettings& settings);
  template <typename Opened>
  static Result<std::unique_ptr<RocksDbThrottle>> AttachTo(rocksdb::DB* db, const Opened& opened,
                                                           const Options& options);
  Status StopLocked() WEIR_REQUIRES(lifecycle_mutex_);

  const BirthProcess birth_;
  const bool limits_;
  Mutex lifecycle_mutex_;  // one Start or Stop at a time
  const std::unique_ptr<RocksDbMonitor> monitor_;
  AdaptiveLimiter limiter_;
};

}  // namespace weir
