// The open RocksDB under the store: its families, and how reading and failing is told.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "monitors/rocksdb_options.h"
#include "relay/store/keys.h"
#include "relay/store/lock_file.h"
#include "relay/store/record_cache.h"
#include "relay/store/rocksdb_store.h"
#include "rocksdb/db.h"
#include "rocksdb/write_batch.h"

namespace weir {

// "cannot save: IO error: No space left on device; make room on the disk (RocksDB: While appending to data/events/…)":
// what failed, what helps, and kForOperators, which ErrorForStrangers cuts off.
Status DatabaseError(std::string_view doing, const rocksdb::Status& status);
// Whether it is one after which RocksDB refuses all writes for as long as it is open.
bool NeedsRestart(const rocksdb::Status& status);

// Whether the database at this path is one that this program understands, and has its files; of these only the logs are
// read, into memory. Nothing is written. For a database that nobody has open.
Status RecogniseDatabase(const std::string& path);

// A sentence for the operator where another version of RocksDB had the database before; empty where this one had it.
std::string AboutAnotherRocksDb(const std::string& path);

class Database {
 public:
  // Everything that can be wrong with a path is told here; see rocksdb_store.h.
  static Result<std::unique_ptr<Database>> Open(const StoreOptions& options);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  rocksdb::DB* db() const { return db_.get(); }
  rocksdb::ColumnFamilyHandle* events() const { return families_[1]; }
  rocksdb::ColumnFamilyHandle* index() const { return families_[2]; }
  const std::vector<rocksdb::ColumnFamilyHandle*>& families() const { return families_; }
  const PreparedRocksDb& prepared() const { return prepared_; }
  const RecordCache& record_cache() const { return record_cache_; }
  // A sentence for the operator where the log of the run before is damaged, so that what lay behind the damage is lost;
  // empty where all of it was read.
  const std::string& loss() const { return loss_; }

  // The serial that was given last as of a snapshot: told by who writes, so that nobody has to read it, a tenth of a
  // small question. Null where it was not told of just that.
  void SetLastSerial(uint64_t serial);
  std::optional<uint64_t> LastSerialAt(rocksdb::SequenceNumber sequence) const;

 private:
  Database() = default;
  static Result<std::unique_ptr<Database>> OpenOnce(const StoreOptions& options);
  static Result<std::unique_ptr<Database>> OpenLocked(const StoreOptions& options, LockFile lock, bool exists);
  Status WriteFormat();

  LockFile lock_;
  PreparedRocksDb prepared_;
  RecordCache record_cache_{nullptr};
  std::string loss_;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;  // default, events, index

  mutable std::mutex mutex_;
  rocksdb::SequenceNumber told_at_ = 0;
  std::optional<uint64_t> last_serial_;
};

// The same moment for everything that is read through it.
class Snapshot {
 public:
  explicit Snapshot(rocksdb::DB* db) : db_(db), snapshot_(db->GetSnapshot()) {}
  ~Snapshot() { db_->ReleaseSnapshot(snapshot_); }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  rocksdb::SequenceNumber sequence() const { return snapshot_->GetSequenceNumber(); }
  rocksdb::ReadOptions ReadOptions() const {
    rocksdb::ReadOptions options;
    options.snapshot = snapshot_;
    return options;
  }

 private:
  rocksdb::DB* db_;
  const rocksdb::Snapshot* snapshot_;
};

inline rocksdb::Slice ToSlice(std::string_view text) { return {text.data(), text.size()}; }
inline rocksdb::Slice ToSlice(const Key& key) { return ToSlice(key.view()); }

inline std::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

}  // namespace weir
