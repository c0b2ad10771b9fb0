// The database of one run: a copy of a preloaded and settled template in a directory of its own, which is removed when
// it ends.
#pragma once

#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <string>

#include "bench/measure/temporary_directory.h"
#include "bench/storm/content.h"
#include "bench/storm/shape.h"
#include "config/status.h"
#include "monitors/rocksdb_monitor.h"

namespace weir {

// Writes the shape's preloaded values into a new database at `path` and lets it settle, as fast as the disk allows.
Status MakeTemplate(const StormShape& shape, const std::filesystem::path& path);

class StormEngine {
 public:
  struct Options {
    rocksdb::Options rocksdb;  // for every column family except the relay's
    std::shared_ptr<rocksdb::RateLimiter> disk;
    bool move_brakes = false;  // opened as weir opens its own: brakes moved outwards, buffers under one manager
  };
  static Options DefaultOptions(const StormShape& shape);

  // Copies the template into a directory under `parent`.
  static Result<std::unique_ptr<StormEngine>> Open(const StormShape& shape, Options options,
                                                   const std::filesystem::path& template_path,
                                                   const std::filesystem::path& parent);

  rocksdb::DB& db() { return *database_.db; }
  const auto& families() const { return database_.families; }
  RocksDbMonitor& monitor() { return *monitor_; }
  const StormShape& shape() const { return shape_; }

  // Operations of clients. Any thread may call them, with a `random` of its own.
  void AddInteractivePut(std::mt19937_64& random, rocksdb::WriteBatch* batch) const {
    content_->AddInteractive(database_, random, batch);
  }
  void AddBulkChange(std::mt19937_64& random, rocksdb::WriteBatch* batch) const {
    content_->AddBulk(database_, random, batch);
  }
  rocksdb::Status Get(std::mt19937_64& random) const { return content_->Get(database_, random); }
  rocksdb::Status Scan(std::mt19937_64& random, int values) const { return content_->Scan(database_, random, values); }

  // Sets the share of the disk that flushes and compactions get from now on.
  void SetDisk(double share_of_full);
  // Returns true if RocksDB slows down or stops writes at this moment, its WriteBufferManager included.
  bool Braking() const;
  // Makes RocksDB flush everything and compact it out of L0 from now on, so that all runs end in the same state, even
  // if a few files would have waited there for others.
  Status BeginToSettle();
  bool Settled() const;
  // Returns the sum of a property over all column families.
  uint64_t Property(const std::string& name) const;

 private:
  explicit StormEngine(const StormShape& shape) : shape_(shape), content_(MakeContent(shape, shape.preloaded_values)) {}

  const StormShape shape_;
  const std::unique_ptr<StormContent> content_;
  std::unique_ptr<TemporaryDirectory> directory_;
  std::shared_ptr<rocksdb::RateLimiter> disk_;
  std::shared_ptr<rocksdb::WriteBufferManager> buffers_;  // may be null
  StormDatabase database_;
  std::unique_ptr<RocksDbMonitor> monitor_;
};

}  // namespace weir
