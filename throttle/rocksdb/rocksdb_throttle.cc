#include "throttle/rocksdb/rocksdb_throttle.h"

#include <cstdio>
#include <map>
#include <stdexcept>
#include <utility>

namespace weir {
namespace {

bool HasMovedBrakes(const PreparedRocksDb& prepared) {
  for (const auto& [family, geometry] : prepared.geometry)
    if (geometry.brakes_moved) return true;
  return false;
}

void TellOnStderr(const std::string& event) { std::fprintf(stderr, "weir: %s\n", event.c_str()); }

// The databases of this process that have a throttle. Two throttles on one database would each admit all that it can
// carry. All databases share its mutex, so no call that may wait is made while it is held.
class Throttled {
 public:
  // Returns false if another throttle is attached to the database.
  bool Add(rocksdb::DB* db, const RocksDbMonitor* monitor) {
    const MutexLock lock(mutex_);
    const RocksDbMonitor*& present = monitors_[db];
    // A detached one may have been of an older database at the same address.
    if (present != nullptr && present->attached()) return false;
    present = monitor;
    return true;
  }

  void Remove(const RocksDbMonitor* monitor) {
    const MutexLock lock(mutex_);
    std::erase_if(monitors_, [monitor](const auto& entry) { return entry.second == monitor; });
  }

 private:
  Mutex mutex_;
  std::map<rocksdb::DB*, const RocksDbMonitor*> monitors_ WEIR_GUARDED_BY(mutex_);
};

// Never destroyed: a static throttle may end after static destructors have run.
Throttled& ThrottledDatabases() {
  static auto* const databases = new Throttled;
  return *databases;
}

}  // namespace

RocksDbThrottle::RocksDbThrottle(std::unique_ptr<RocksDbMonitor> monitor, const LimiterSettings& settings)
    : limits_(settings.enabled), monitor_(std::move(monitor)), limiter_(*monitor_, settings) {}

RocksDbThrottle::~RocksDbThrottle() {
  if (!birth_.IsForked()) ThrottledDatabases().Remove(monitor_.get());
}

template <typename Opened>
Result<std::unique_ptr<RocksDbThrottle>> RocksDbThrottle::AttachTo(rocksdb::DB* db, const Opened& opened,
                                                                   const Options& options) {
  try {
    RocksDbMonitorSettings settings = options.monitor;
    if (!settings.on_event) settings.on_event = TellOnStderr;
    auto monitor = std::make_unique<RocksDbMonitor>(db, options.handles, opened, settings);
    std::unique_ptr<RocksDbThrottle> throttle(new RocksDbThrottle(std::move(monitor), options.limiter));
    if (!ThrottledDatabases().Add(db->GetRootDB(), throttle->monitor_.get())) {
      return Status::Error("RocksDB " + db->GetName() +
                           " has a throttle already: let all its clients share that one, or call its Detach first");
    }
    if (Status started = throttle->Start(); !started.ok()) return started;
    return throttle;
  } catch (const std::invalid_argument& e) {
    return Status::Error(e.what());
  }
}

Result<std::unique_ptr<RocksDbThrottle>> RocksDbThrottle::Attach(rocksdb::DB* db, const PreparedRocksDb& prepared,
                                                                 const Options& options) {
  if (HasMovedBrakes(prepared) && !options.limiter.ReplacesBrakes()) {
    return Status::Error(
        "the brakes of this RocksDB were moved out of the way of a limiter that is off or opens when the sensor is "
        "lost: prepare its options with EngineBrakes::kAsSet");
  }
  return AttachTo(db, prepared, options);
}

Result<std::unique_ptr<RocksDbThrottle>> RocksDbThrottle::Attach(rocksdb::DB* db, uint64_t memory_target_bytes,
                                                                 const Options& options) {
  return AttachTo(db, memory_target_bytes, options);
}

Status RocksDbThrottle::Start() {
  if (birth_.IsForked()) return Status::Error("this throttle belongs to the parent process: attach a new one");
  const MutexLock lifecycle(lifecycle_mutex_);
  if (!monitor_->attached()) return Status::Error("database closed");
  if (limits_) {
    if (Status moved = monitor_->MoveBrakes(); !moved.ok()) return moved;
  }
  monitor_->Start();
  limiter_.Start();
  return {};
}

Status RocksDbThrottle::Stop() {
  if (birth_.IsForked()) {
    limiter_.Stop();
    return {};
  }
  const MutexLock lifecycle(lifecycle_mutex_);
  return StopLocked();
}

// The limiter stops first: if the brakes moved first, RocksDB could brake the work that the limiter still delays.
Status RocksDbThrottle::StopLocked() {
  limiter_.Stop();
  return monitor_->GiveBrakesBack();
}

// The thread of the monitor ends when no lock is held, because on_event may call Stop.
Status RocksDbThrottle::Detach() {
  if (birth_.IsForked()) {
    Status stopped = Stop();
    monitor_->Stop();
    return stopped;
  }
  Status stopped;
  {
    const MutexLock lifecycle(lifecycle_mutex_);  // no Start may move the brakes again
    stopped = StopLocked();
    monitor_->Detach();
  }
  monitor_->Stop();
  return stopped;
}

}  // namespace weir
