// Database: the open RocksDB database of a RocksDbStore, with its column families (keys.h). Also: functions that check
// a database before it is opened, and that turn RocksDB's errors into messages.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/mutex.h"
#include "config/status.h"
#include "monitors/rocksdb_options.h"
#include "relay/process/lock_file.h"
#include "relay/store/keys.h"
#include "relay/store/record_cache.h"
#include "relay/store/rocksdb_store.h"
#include "relay/store/search/search_index.h"
#include "relay/store/serial.h"
#include "rocksdb/db.h"
#include "rocksdb/write_batch.h"

namespace weir {

// Turns a RocksDB status that is not ok into an error. The message says what failed (`doing`). After a full disk,
// damage, or an error that only a restart ends, it also says what the operator can do. Behind kForOperators
// (event_store.h) it has the part that only operators may see, if there is one. Example: "cannot save: IO error: No
// space left on device; make room on the disk, the store goes on by itself (RocksDB: While appending to
// data/events/…)".
Status DatabaseError(std::string_view doing, const rocksdb::Status& status);
// Returns true if RocksDB refuses all writes after this error until the database is opened again.
bool NeedsRestart(const rocksdb::Status& status);

// Checks that the database at `path` has a format that this program knows, and that all its files are there with the
// right sizes. Reads the format and the write-ahead logs, but no other entries, and writes nothing. REQUIRES: no
// process has the database open.
Status RecogniseDatabase(const std::string& path);

// Returns a sentence for the operator if another version of RocksDB opened the database last. Returns an empty string
// if it was this version, or if the version is not known.
std::string AboutAnotherRocksDb(const std::string& path);

// The open database. All functions may be called from any thread.
class Database {
 public:
  // Opens or creates the database. An error says what is wrong and what to do. If `options.read_only` is true, another
  // process may be writing. Open then tries up to 20 times, until that process does no flush or compaction during a
  // try.
  static Result<std::unique_ptr<Database>> Open(const StoreOptions& options);
  ~Database();
  // Makes the index of words fit to StoreOptions::searched_kinds: keeps it, begins a new one for events up to
  // `last_serial`, or removes it. Also removes one that this program does not understand, because saves could not keep
  // it up to date. Changes nothing if the database is read-only. Must be called before anything is saved or searched.
  Status OpenSearch(const StoreOptions& options, uint64_t last_serial);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  rocksdb::DB* db() const { return db_.get(); }
  rocksdb::ColumnFamilyHandle* memos() const { return families_[0]; }
  rocksdb::ColumnFamilyHandle* events() const { return families_[1]; }
  rocksdb::ColumnFamilyHandle* index() const { return families_[2]; }
  const std::vector<rocksdb::ColumnFamilyHandle*>& families() const { return families_; }
  // Return the index of words and its column family; null if the database has none.
  SearchIndex* search() const { return search_.get(); }
  rocksdb::ColumnFamilyHandle* search_family() const { return search_ ? families_[3] : nullptr; }
  const PreparedRocksDb& prepared() const { return prepared_; }
  const RecordCache& record_cache() const { return record_cache_; }
  // Returns a sentence for the operator if the write-ahead log of the previous run is damaged; the part of the log
  // after the damage is then lost. Returns an empty string if RocksDB could read all of the log.
  const std::string& loss() const { return loss_; }

  // Counts a record that could not be read because it is damaged. Logs the first.
  void NoteDamagedRecord(uint64_t serial) const;
  uint64_t damaged_reads() const { return damaged_reads_; }

  // These keep the last assigned serial in memory, so that queries need not read the counters. Reading them would be a
  // tenth of the cost of a small query. The thread that saves calls SetLastSerial after each write. LastSerialAt
  // returns the last serial in a snapshot with RocksDB's sequence number `sequence`, or nullopt if RocksDB had another
  // sequence number when SetLastSerial was last called.
  void SetLastSerial(uint64_t serial);
  std::optional<uint64_t> LastSerialAt(rocksdb::SequenceNumber sequence) const;

 private:
  Database() = default;
  static Result<std::unique_ptr<Database>> OpenOnce(const StoreOptions& options);
  static Result<std::unique_ptr<Database>> OpenLocked(const StoreOptions& options, LockFile lock, bool exists,
                                                      bool has_search);
  Status WriteFormat();
  Status DropSearch();

  LockFile lock_;
  PreparedRocksDb prepared_;
  RecordCache record_cache_{nullptr};
  std::string loss_;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;  // default, events, index, search (not always)
  rocksdb::ColumnFamilyOptions search_options_;
  std::unique_ptr<SearchIndex> search_;
  mutable std::atomic<uint64_t> damaged_reads_{0};

  mutable Mutex mutex_;
  rocksdb::SequenceNumber told_at_ WEIR_GUARDED_BY(mutex_) = 0;  // RocksDB's sequence number when last_serial_ was set
  std::optional<uint64_t> last_serial_ WEIR_GUARDED_BY(mutex_);
};

// A RocksDB snapshot: all reads with its ReadOptions() see the database as it was when the snapshot was made. The
// database must outlive the snapshot.
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

// Reads the moment through the snapshot itself, so that the two can never differ.
Status ReadMoment(const Database& database, const Snapshot& snapshot, Moment* moment);

inline rocksdb::Slice ToSlice(std::string_view text) { return {text.data(), text.size()}; }
inline rocksdb::Slice ToSlice(const Key& key) { return ToSlice(key.view()); }

inline std::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

}  // namespace weir
