// The open RocksDB under the store: its column families, and how reads and failures are reported.
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

// Returns an error that tells what failed, what helps, and behind kForOperators what only operators should see: "cannot
// save: IO error: No space left on device; make room on the disk (RocksDB: While appending to data/events/…)".
Status DatabaseError(std::string_view doing, const rocksdb::Status& status);
// Returns true if RocksDB refuses all writes after this error for as long as it is open.
bool NeedsRestart(const rocksdb::Status& status);

// Checks that the database at this path is one that this program understands, and has its files; only the logs are
// read, into memory. Writes nothing. For a database that no process has open.
Status RecogniseDatabase(const std::string& path);

// Returns a sentence for the operator if another version of RocksDB had the database before; empty if this one had it.
std::string AboutAnotherRocksDb(const std::string& path);

class Database {
 public:
  // The error tells everything that can be wrong with a path; see rocksdb_store.h.
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
  // Returns a sentence for the operator if the log of the previous run is damaged, so that everything behind the damage
  // is lost; empty if all of the log was read.
  const std::string& loss() const { return loss_; }

  // The last serial that was given, as of a snapshot. The writer sets it, so that no query has to read it, which would
  // be a tenth of a small query. Null if it was not set for exactly this snapshot.
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

// Everything that is read through it is of the same moment.
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
