// RocksDbStore: the EventStore (event_store.h) on RocksDB, in a directory of this machine.
//
//   auto store = RocksDbStore::Open({.path = "data/events", .memory_target_bytes = target});
//   if (!store.ok()) …  // says what is wrong and what to do: locked by which process, newer format, no permission, …
//
// keys.h has the layout. Each call of SaveSome writes its changes as one atomic WriteBatch. A write has a fixed cost,
// so callers should save many events with one call (group_commit.h). Only one process can open a database for writing;
// a lock file names that process (lock_file.h).
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/mutex.h"
#include "config/settings.h"
#include "config/status.h"
#include "monitors/rocksdb_options.h"
#include "relay/store/event_store.h"

namespace weir {

// The time at which saved events are on disk. A killed process never loses saved events; a machine that fails may lose
// those that are not on disk yet.
enum class SyncMode : uint8_t {
  kBatch,     // when SaveSome returns
  kInterval,  // about sync_interval later (wal_sync.h)
  kOff,       // when the operating system writes them
};

struct StoreSettings {
  SyncMode sync = SyncMode::kBatch;              // WEIR_DB_SYNC
  std::chrono::milliseconds sync_interval{200};  // WEIR_DB_SYNC_INTERVAL_MS
  uint64_t io_mb_per_second = 0;                 // WEIR_DB_IO_MB_PER_S; 0: no limit
};
// Adds the settings to `table` (config/settings.h), which writes to `settings`.
void Declare(SettingTable& table, StoreSettings& settings);

struct StoreOptions {
  std::string path;                              // the database's directory
  uint64_t memory_target_bytes = 1400ull << 20;  // memory of the whole program, from which RocksDB's share is computed
  uint64_t max_disk_bytes = 0;                   // the disk budget, from which follow the buffers; 0: none
  StoreSettings settings;
  // Addresses of this relay. A request to vanish (NIP-62) is carried out if it names one of them, or ALL_RELAYS.
  std::vector<std::string> own_urls;
  // The kinds whose content can be searched (search/search_index.h), sorted; empty: search is off, and its index is
  // removed. nullopt: keeps the index that the database has, if it has one.
  std::optional<std::vector<uint16_t>> searched_kinds;
  std::string address;  // address of this program, which it writes into the lock file (lock_file.h)
  // For `weir check`, `weir scan` and `weir export`, also beside a running relay: takes no lock and writes nothing. The
  // store then shows the moment at which it was opened, never anything newer.
  bool read_only = false;
  bool create = true;  // false: a missing database is an error
  bool direct_io_for_compaction = false;
  // Raises the limits at which RocksDB itself slows writes down, because a limiter slows them down earlier
  // (monitors/rocksdb_options.h). Must be false if there is no such limiter.
  bool move_brakes = true;
  bool for_import = false;  // true if no client reads meanwhile: keeps more files in level 0 and rewrites less
};

class Database;
class Expiry;
class IdleMerge;
class ReadAhead;
class Vanishing;
class WalSync;
struct Counters;
struct RemovalPiece;

class RocksDbStore final : public EventStore {
 public:
  static Result<std::unique_ptr<RocksDbStore>> Open(const StoreOptions& options);
  // Unless the store is read-only, writes everything that is in memory to disk and releases the lock.
  ~RocksDbStore() override;

  Result<size_t> SaveSome(std::span<const Event> events, uint64_t now_seconds, Work most,
                          std::span<SaveResult> results) override;
  Result<OwedPiece> RemoveVanished(Work most) override;
  Result<OwedPiece> RemoveExpired(uint64_t now_seconds, Work most) override;
  Result<OwedPiece> RemoveAuthor(const PublicKey& author, std::string* resume, Work most) override;
  Result<OwedPiece> BuildSearch(Work most) override;
  Work SearchWork(EventView event) const override;
  Status WriteMemos(std::span<const Memo> changes) override;
  // No other process writes, so the revision of an open store never changes.
  Result<uint64_t> ReadMemos(uint64_t after, const std::function<void(const Memo& memo)>& visit) const override;
  Status Upkeep() override;
  Status Stuck() const override;
  bool owes_vanishing() const override { return owes_vanishing_; }
  Result<std::vector<bool>> Stored(std::span<const EventId> ids) const override;
  Result<std::vector<bool>> StoredSigned(std::span<const EventView> events) const override;
  std::unique_ptr<Query> Find(std::vector<Filter> filters, const QueryOptions& options) const override;
  Result<OwedPiece> DeleteSome(std::span<const EventId>* ids, Work most) override;
  Result<Moment> Now() const override;
  Status ScanAll(const Moment& after, const Moment& until,
                 const std::function<bool(Serial serial, EventView event)>& visit) const override;
  Status Flush() override;
  Status Sync() const override;
  StoreSizes Sizes() const override;
  uint64_t RemovedBytes() const override;
  std::string loss() const override;

  // Returns the serials of the records that are in memory because they were read, ascending. Takes about a millisecond
  // for 10,000 of them.
  std::vector<uint64_t> CachedRecords() const;
  // Begins to read the records with these serials, ascending, into memory, with the index (read_ahead.h).
  std::unique_ptr<ReadAhead> NewReadAhead(std::vector<uint64_t> serials) const;

  // Used by the throttle and its RocksDbMonitor, which must be destroyed before the store.
  rocksdb::DB* db() const;
  const std::vector<rocksdb::ColumnFamilyHandle*>& families() const;
  const PreparedRocksDb& prepared() const;

 private:
  RocksDbStore(const StoreOptions& options, std::unique_ptr<Database> database, const Counters& counters);
  enum class Synced : uint8_t { kNever, kAsSet, kAlways };
  // Writes the batch and the new counters (`after`) as one write. kAsSet: syncs it if StoreSettings::sync is kBatch.
  Status Write(rocksdb::WriteBatch* batch, const Counters& after, Synced synced);
  Status FlushMemos();
  Status Resume();
  Status Failed(const rocksdb::Status& status);
  bool NothingInMemory() const;
  Status WriteRemovals(RemovalPiece* piece, Synced synced);
  template <typename Job, typename Next>
  Result<OwedPiece> DoPiece(std::unique_ptr<Job>* job, Next next);

  const StoreOptions options_;
  const std::unique_ptr<Database> database_;
  std::unique_ptr<WalSync> wal_sync_;

  // The members below are used on the thread that saves.
  uint64_t next_serial_;
  bool failed_ = false;  // the last write failed
  std::unique_ptr<Vanishing> vanishing_;
  std::unique_ptr<Expiry> expiry_;
  std::unique_ptr<IdleMerge> idle_merge_;

  mutable Mutex stuck_mutex_;
  Status stuck_ WEIR_GUARDED_BY(stuck_mutex_);
  std::atomic<bool> owes_vanishing_ = true;  // true at first, because an earlier process may not have finished
  // The counters that were written last.
  std::atomic<uint64_t> events_;
  std::atomic<uint64_t> last_serial_;
};

}  // namespace weir
