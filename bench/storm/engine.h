// The database of one run: a copy of a preloaded and settled template in a directory of its own, which goes when it
// ends.
#pragma once

#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bench/measure/temporary_directory.h"
#include "bench/storm/shape.h"
#include "config/status.h"
#include "monitors/rocksdb_monitor.h"

namespace weir {

// Sixteen digits.
std::string StormKey(uint64_t number);

// Values of a shape: any thread.
class StormValues {
 public:
  explicit StormValues(const StormShape& shape);
  // Lives as long as this; no longer than the shape's values.
  rocksdb::Slice Next(std::mt19937_64& random, size_t bytes) const;

 private:
  std::string bytes_;  // values are cut from anywhere in it
};

// Writes random values of the shape into a new database at `path` and lets it settle, as fast as the disk allows.
Status MakeTemplate(const StormShape& shape, const std::filesystem::path& path);

class StormEngine {
 public:
  using Families = std::vector<std::unique_ptr<rocksdb::ColumnFamilyHandle>>;  // in the shape's order
  struct Options {
    rocksdb::Options rocksdb;  // of every column family
    std::shared_ptr<rocksdb::RateLimiter> disk;
    bool move_brakes = false;  // opened as weir opens its own: brakes moved outwards, buffers under one manager
  };
  static Options DefaultOptions(const StormShape& shape);

  // Copies the template into a directory under `parent`.
  static Result<std::unique_ptr<StormEngine>> Open(const StormShape& shape, Options options,
                                                   const std::filesystem::path& template_path,
                                                   const std::filesystem::path& parent);

  rocksdb::DB& db() { return *db_; }
  RocksDbMonitor& monitor() { return *monitor_; }
  const StormShape& shape() const { return shape_; }

  // What clients do, with a random key of a random column family. Any thread, each with its own `random`.
  void AddInteractivePut(std::mt19937_64& random, rocksdb::WriteBatch* batch) const;
  void AddBulkChange(std::mt19937_64& random, rocksdb::WriteBatch* batch) const;  // a deletion at times
  rocksdb::Status Get(std::mt19937_64& random) const;                             // ok where it finds none, too
  rocksdb::Status Scan(std::mt19937_64& random, int values) const;

  // What flushes and compactions get from now on.
  void SetDisk(double share_of_full);
  // Whether RocksDB slows down or stops writes at this moment, its WriteBufferManager included.
  bool Braking() const;
  // From now on everything is flushed and compacted out of L0, so that all runs end in the same state, whatever few
  // files would have waited there for others.
  Status BeginToSettle();
  bool Settled() const;
  // Of all column families together.
  uint64_t Property(const std::string& name) const;

 private:
  explicit StormEngine(const StormShape& shape) : shape_(shape), values_(shape) {}
  void AddPut(std::mt19937_64& random, size_t value_bytes, rocksdb::WriteBatch* batch) const;

  const StormShape shape_;
  const StormValues values_;
  std::unique_ptr<TemporaryDirectory> directory_;
  std::shared_ptr<rocksdb::RateLimiter> disk_;
  std::shared_ptr<rocksdb::WriteBufferManager> buffers_;  // may be null
  std::unique_ptr<rocksdb::DB> db_;
  Families families_;  // closed before it
  std::unique_ptr<RocksDbMonitor> monitor_;
};

}  // namespace weir
