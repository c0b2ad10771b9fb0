// RocksDbStore: the EventStore on RocksDB.
//
//   auto store = RocksDbStore::Open({.path = "data/events", .memory_target_bytes = target});
//   if (!store.ok()) …  // says what is wrong and what to do: locked and by whom, newer format, no permission, no space
//
// Layout: see keys.h. Each piece that is saved is one atomic WriteBatch; it is a database write of its own, so callers
// batch (group_commit.h). Opening is exclusive: a lock file names the process that has the database.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "config/settings.h"
#include "config/status.h"
#include "monitors/rocksdb_options.h"
#include "relay/store/event_store.h"

namespace weir {

enum class SyncMode : uint8_t {
  kBatch,     // every Save is on disk when it returns
  kInterval,  // at most sync_interval later; a killed process loses nothing, a machine that fails may
  kOff,       // when the system writes it
};

struct StoreSettings {
  SyncMode sync = SyncMode::kBatch;              // WEIR_DB_SYNC
  std::chrono::milliseconds sync_interval{200};  // WEIR_DB_SYNC_INTERVAL_MS
  uint64_t io_mb_per_second = 0;                 // WEIR_DB_IO_MB_PER_S
};
void Declare(SettingTable& table, StoreSettings& settings);

struct StoreOptions {
  std::string path;
  uint64_t memory_target_bytes = 1400ull << 20;  // for the whole program
  StoreSettings settings;
  // A request to vanish (NIP-62) counts if it names one of these, or ALL_RELAYS.
  std::vector<std::string> own_urls;
  std::string address;     // address of the program that opens it, for others that find it locked (lock_file.h)
  bool read_only = false;  // for weir check and scan beside a running relay: takes no lock and writes nothing
  bool create = true;      // false: a missing database is an error
  bool direct_io_for_compaction = false;
  bool move_brakes = true;  // moves RocksDB's own out of a limiter's way: only if one controls (rocksdb_options.h)
  bool for_import = false;  // no client reads meanwhile: keeps more in level 0, and rewrites less
};

class Database;
class Expiry;
class IdleMerge;
class Vanishing;
class WalSync;
struct Counters;
struct RemovalPiece;

class RocksDbStore final : public EventStore {
 public:
  static Result<std::unique_ptr<RocksDbStore>> Open(const StoreOptions& options);
  // Flushes and releases the lock.
  ~RocksDbStore() override;

  Result<size_t> SaveSome(std::span<const Event> events, uint64_t now_seconds, Work most,
                          std::span<SaveResult> results) override;
  Result<OwedPiece> RemoveVanished(Work most) override;
  Result<OwedPiece> RemoveExpired(uint64_t now_seconds, Work most) override;
  Status Upkeep() override;
  Status Stuck() const override;
  bool owes_vanishing() const override { return owes_vanishing_; }
  Result<std::vector<bool>> Stored(std::span<const EventId> ids) const override;
  Result<std::vector<bool>> StoredSigned(std::span<const EventView> events) const override;
  std::unique_ptr<Query> Find(std::vector<Filter> filters, const QueryOptions& options) const override;
  Result<uint64_t> Delete(std::span<const EventId> ids) override;
  Result<Moment> Now() const override;
  Status ScanAll(const Moment& after, const Moment& until,
                 const std::function<bool(Serial serial, EventView event)>& visit) const override;
  Status Flush() override;
  Status Sync() const override;
  StoreSizes Sizes() const override;
  std::string loss() const override;

  // For RocksDbMonitor, which must be detached before this ends.
  rocksdb::DB* db() const;
  const std::vector<rocksdb::ColumnFamilyHandle*>& families() const;
  const PreparedRocksDb& prepared() const;

 private:
  RocksDbStore(const StoreOptions& options, std::unique_ptr<Database> database, const Counters& counters);
  // Writes the batch, and the counters after it, as one write.
  Status Write(rocksdb::WriteBatch* batch, const Counters& after, bool sync);
  Status Resume();
  Status Failed(const rocksdb::Status& status);
  bool NothingInMemory() const;
  Status WriteRemovals(RemovalPiece* piece, bool sync);
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

  mutable std::mutex stuck_mutex_;
  Status stuck_;
  std::atomic<bool> owes_vanishing_ = true;  // an earlier process may have left something
  // The counters as last written.
  std::atomic<uint64_t> events_;
  std::atomic<uint64_t> last_serial_;
};

}  // namespace weir
