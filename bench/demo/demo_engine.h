// The database of the demonstration: small buffers and little disk bandwidth, so that two cores can overload it within
// seconds: the geometry of the storm experiment, a quarter of its sizes, so that it settles in a quarter of the time.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "bench/demo/workload.h"
#include "config/status.h"
#include "monitors/rocksdb_monitor.h"

namespace weir {

class DemoEngine {
 public:
  // Opens an empty database in a directory that is removed at the end. `prepared`: opened as weir opens its own, with
  // RocksDB's brakes moved outwards; else as a program that knows nothing of weir.
  static Result<std::unique_ptr<DemoEngine>> Open(const std::filesystem::path& parent, bool prepared);
  ~DemoEngine();

  // Writes as many values as the workload has keys and lets them settle, as fast as the disk allows.
  Status Preload(const WorkloadOptions& workload);

  rocksdb::DB& db() { return *db_; }
  LoadMonitor& monitor() { return *monitor_; }
  // Whether RocksDB slows down or stops writes at this moment.
  bool Braking() const;

 private:
  DemoEngine() = default;

  std::filesystem::path path_;
  std::shared_ptr<rocksdb::RateLimiter> disk_;
  std::unique_ptr<rocksdb::DB> db_;
  std::unique_ptr<LoadMonitor> monitor_;
};

}  // namespace weir
