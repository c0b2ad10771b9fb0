// The database of one run: a copy of a preloaded and settled template in a directory of its own, which goes when it
// ends.
#pragma once

#include <rocksdb/options.h>

#include <cstdint>
#include <filesystem>
#include <memory>

#include "bench/measure/temporary_directory.h"
#include "config/status.h"
#include "monitors/rocksdb_monitor.h"

namespace weir {

// The engine under the storm: a RocksDB that two cores can overload, because its background I/O is limited (the disk is
// far faster than the cores).
//
// At scale 1: values of 1,000 bytes over 2 million keys, no compression, 4 buffers of 4 MiB, L0 triggers 4/12/20, L1 of
// 32 MiB, files of 4 MiB, soft limit of debt 512 MiB, hard 2 GiB, two background jobs, 32 MiB/s for flushes and
// compactions in portions of 10 ms, 32 MiB of block cache, 100 MB preloaded.
struct StormGeometry {
  double scale = 1;  // of every size and of the disk

  uint64_t keys = 2'000'000;
  size_t value_bytes = 1000;
  uint64_t preloaded_values = 100'000;
  int64_t disk_bytes_per_second = 32 << 20;
  uint64_t memory_target_bytes = 256 << 20;
};

StormGeometry ScaledStorm(double scale);

// Sixteen digits.
std::string StormKey(uint64_t number);

// Writes random keys of the geometry into a new database at `path` and lets it settle, as fast as the disk allows.
Status MakeTemplate(const StormGeometry& geometry, const std::filesystem::path& path);

class StormEngine {
 public:
  struct Options {
    rocksdb::Options rocksdb;
    std::shared_ptr<rocksdb::RateLimiter> disk;
    bool move_brakes = false;  // opened as weir opens its own: brakes moved outwards, buffers under one manager
  };
  static Options DefaultOptions(const StormGeometry& geometry);

  // Copies the template into a directory under `parent`.
  static Result<std::unique_ptr<StormEngine>> Open(const StormGeometry& geometry, Options options,
                                                   const std::filesystem::path& template_path,
                                                   const std::filesystem::path& parent);

  rocksdb::DB& db() { return *db_; }
  RocksDbMonitor& monitor() { return *monitor_; }
  const StormGeometry& geometry() const { return geometry_; }

  // What flushes and compactions get from now on.
  void SetDisk(double share_of_full);
  // Whether RocksDB slows down or stops writes at this moment, its WriteBufferManager included.
  bool Braking() const;
  // From now on everything is flushed and compacted out of L0, so that all runs end in the same state, whatever few
  // files would have waited there for others.
  Status BeginToSettle();
  bool Settled() const;
  uint64_t Property(const std::string& name) const;

 private:
  StormEngine() = default;

  StormGeometry geometry_;
  std::unique_ptr<TemporaryDirectory> directory_;
  std::shared_ptr<rocksdb::RateLimiter> disk_;
  std::shared_ptr<rocksdb::WriteBufferManager> buffers_;  // may be null
  std::unique_ptr<rocksdb::DB> db_;
  std::unique_ptr<RocksDbMonitor> monitor_;
};

}  // namespace weir
