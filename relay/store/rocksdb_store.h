// RocksDbStore: the EventStore on RocksDB.
//
//   auto store = RocksDbStore::Open({.path = "data/events", .memory_target_bytes = target});
//   if (!store.ok()) …  // says what is wrong and what to do: locked and by whom, newer format, no permission, no space
//
// Layout: see keys.h. One atomic WriteBatch a Save; a Save is a database write of its own, so callers batch
// (group_commit.h). Opening is exclusive: a lock file names the process that has it.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "config/settings.h"
#include "config/status.h"
#include "monitors/rocksdb_options.h"
#include "relay/store/event_store.h"

namespace weir {

enum class SyncMode : uint8_t {
  kBatch,     // every Save is on disk when it returns
  kInterval,  // at most sync_interval later; a process that is killed loses nothing, a machine that is may
  kOff,       // when the system likes
};

struct StoreSettings {
  SyncMode sync = SyncMode::kBatch;              // WEIR_DB_SYNC
  std::chrono::milliseconds sync_interval{200};  // WEIR_DB_SYNC_INTERVAL_MS
};
void Declare(SettingTable& table, StoreSettings& settings);

struct StoreOptions {
  std::string path;
  uint64_t memory_target_bytes = 1400ull << 20;  // of the whole program
  StoreSettings settings;
  // A request to vanish (NIP-62) counts if it names one of these, or ALL_RELAYS.
  std::vector<std::string> own_urls;
  std::string address;     // where the program that opens it answers, for others who find it locked (lock_file.h)
  bool read_only = false;  // for weir check and scan beside a running relay: no lock is taken, nothing is written
  bool create = true;      // false: a database that is not there is an error
  bool direct_io_for_compaction = false;
  bool for_import = false;  // nobody reads meanwhile: more is kept in level 0, and less is rewritten
};

class RocksDbStore final : public EventStore {
 public:
  static Result<std::unique_ptr<RocksDbStore>> Open(const StoreOptions& options);
  // Flushes and releases the lock.
  ~RocksDbStore() override;

  Status Save(std::span<const Event> events, uint64_t now_seconds, std::span<SaveResult> results) override;
  Result<bool> Has(const EventId& id) const override;
  Result<bool> HasSigned(EventView event) const override;
  std::unique_ptr<Query> Find(std::vector<Filter> filters, const QueryOptions& options) const override;
  Result<uint64_t> Delete(std::span<const EventId> ids) override;
  Result<uint64_t> SweepExpired(uint64_t now_seconds, uint32_t max) override;
  Status ScanAll(uint64_t from_serial,
                 const std::function<bool(uint64_t serial, EventView event)>& visit) const override;
  Status Flush() override;
  StoreSizes Sizes() const override;

  // For RocksDbMonitor, which must be detached before this ends.
  rocksdb::DB* db() const;
  const std::vector<rocksdb::ColumnFamilyHandle*>& families() const;
  const PreparedRocksDb& prepared() const;

 private:
  struct Rep;
  explicit RocksDbStore(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace weir
