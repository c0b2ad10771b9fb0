// StormEngine: the database of one run. It is a copy of a template, a database that was filled and whose flushes and
// compactions were done. The copy is in a directory of its own, which the destructor removes.
#pragma once

#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

#include <atomic>
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
#include "throttle/admission.h"

namespace weir {

// Makes the template: writes the shape's preloaded values into a new database at `path`, without the shape's limit of
// disk I/O, and waits until its flushes and compactions are done.
Status MakeTemplate(const StormShape& shape, const std::filesystem::path& path);

class StormEngine {
 public:
  struct Options {
    rocksdb::Options rocksdb;                    // for every column family except the relay's
    std::shared_ptr<rocksdb::RateLimiter> disk;  // null: the disk has no limit
    std::shared_ptr<rocksdb::Env> env;           // null: RocksDB's own
    bool move_brakes = false;  // true: as weir opens a database: RocksDB brakes later, one WriteBufferManager for all
  };
  static Options DefaultOptions(const StormShape& shape);

  // Copies the template into a directory under `parent`, and opens the copy.
  static Result<std::unique_ptr<StormEngine>> Open(const StormShape& shape, Options options,
                                                   const std::filesystem::path& template_path,
                                                   const std::filesystem::path& parent);

  rocksdb::DB& db() { return *database_.db; }
  const auto& families() const { return database_.families; }
  RocksDbMonitor& monitor() { return *monitor_; }
  const StormShape& shape() const { return shape_; }

  // The operations of clients. Any thread may call these, with a `random` of its own.
  void AddInteractivePut(std::mt19937_64& random, rocksdb::WriteBatch* batch) const {
    content_->AddInteractive(database_, random, batch);
  }
  void AddBulkChange(std::mt19937_64& random, rocksdb::WriteBatch* batch) const {
    content_->AddBulk(database_, random, batch);
  }
  // Writes the batch as the shape says: at once, in a transaction, which is repeated when it conflicts with another,
  // or, if it is bulk work, as a file that RocksDB ingests.
  rocksdb::Status Write(rocksdb::WriteOptions options, WorkClass work, rocksdb::WriteBatch& batch);
  rocksdb::Status Get(std::mt19937_64& random) const { return content_->Get(database_, random); }
  rocksdb::Status Scan(std::mt19937_64& random, int values) const { return content_->Scan(database_, random, values); }

  // Sets the share of the shape's disk rate that flushes and compactions may use from now on.
  void SetDisk(double share_of_full);
  // Returns true if RocksDB, or its WriteBufferManager, slows down or stops writes at this moment.
  bool Braking() const;
  // Makes RocksDB flush all memtables and compact all files out of L0, so that all runs end in the same state. RocksDB
  // would otherwise leave a few files in L0. Does not wait; see Settled.
  Status BeginToSettle();
  bool Settled() const;
  // Compacts everything, and lets no other compaction run meanwhile. CancelCompaction ends it, and any later one.
  void CompactAll();
  void CancelCompaction();
  // Returns the sum of a property over all column families.
  uint64_t Property(const std::string& name) const;

 private:
  rocksdb::Status Ingest(rocksdb::WriteBatch& batch);

  explicit StormEngine(const StormShape& shape) : shape_(shape), content_(MakeContent(shape, shape.preloaded_values)) {}

  const StormShape shape_;
  const std::unique_ptr<StormContent> content_;
  std::unique_ptr<TemporaryDirectory> directory_;
  std::shared_ptr<rocksdb::Env> env_;                     // may be null
  std::shared_ptr<rocksdb::RateLimiter> disk_;            // may be null
  std::shared_ptr<rocksdb::WriteBufferManager> buffers_;  // may be null
  StormDatabase database_;
  rocksdb::Options ingested_;  // options of the files that are ingested
  std::atomic<uint64_t> files_ingested_{0};
  std::unique_ptr<RocksDbMonitor> monitor_;
};

}  // namespace weir
