// The database of one run: a copy of a preloaded and settled template in a directory of its own, which goes when it
// ends.
#pragma once

#include <filesystem>
#include <memory>

#include "bench/storm/geometry.h"
#include "config/status.h"
#include "monitors/rocksdb_monitor.h"

namespace weir {

// A directory with a new name that is removed at the end.
class ScratchDirectory {
 public:
  static Result<std::unique_ptr<ScratchDirectory>> Make(const std::filesystem::path& parent, const std::string& prefix);
  ~ScratchDirectory();
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit ScratchDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

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
  std::unique_ptr<ScratchDirectory> directory_;
  std::shared_ptr<rocksdb::RateLimiter> disk_;
  std::shared_ptr<rocksdb::WriteBufferManager> buffers_;  // may be null
  std::unique_ptr<rocksdb::DB> db_;
  std::unique_ptr<RocksDbMonitor> monitor_;
};

}  // namespace weir
