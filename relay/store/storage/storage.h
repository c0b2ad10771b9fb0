// Storage: opens the event store that the setting WEIR_STORE names (RocksDB or PostgreSQL), together with the throttle
// that protects its database from too much work (throttle/adaptive_limiter.h).
//
//   auto storage = Storage::Open({.settings = settings, .data_dir = "./data"});
//   if (!storage.ok()) …
//   storage.value()->store(), storage.value()->limiter() …
//
// Some features exist only for RocksDB: the lock file, the take-over from a running relay, and `weir check`. Callers
// must check IsEmbedded before they use one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "monitors/memory_target.h"
#include "monitors/postgres/postgres_monitor.h"
#include "monitors/rocksdb_monitor.h"
#include "relay/store/postgres/postgres_store.h"
#include "relay/store/rocksdb_store.h"
#include "relay/store/siblings/siblings.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

struct StorageSettings {
  std::string store = "rocksdb";  // WEIR_STORE: "rocksdb" or postgres://…
  StoreSettings rocksdb;
  PostgresStoreSettings postgres;
  SiblingsSettings siblings;
  MemoryTargetSettings memory;
  LimiterSettings limiter;
  RocksDbMonitorSettings monitor;
  PostgresMonitorSettings postgres_monitor;
};
// Adds the settings to `table` (config/settings.h), which writes to `settings`.
void Declare(SettingTable& table, StorageSettings& settings);
// If a setting is wrong, returns an error that names it and says what is wrong.
Status Check(const StorageSettings& settings);
// Checks only the value of WEIR_STORE.
Status CheckStore(std::string_view store);

// Returns true if the store is a RocksDB in the data directory. Returns false if it is a PostgreSQL on a server, which
// other programs can reach, too.
bool IsEmbedded(const StorageSettings& settings);
// Returns true if `store` is the address of a PostgreSQL.
bool IsPostgres(std::string_view store);
// Returns `store` with "***" in place of a password, for messages.
std::string StoreName(std::string_view store);

// Opens an existing store for reading. A relay may have it open at the same time.
Result<std::unique_ptr<EventStore>> OpenForReading(const StorageSettings& settings, const std::string& data_dir);
// Opens the RocksDB in the directory `path` for reading. A relay may have it open at the same time.
Result<std::unique_ptr<RocksDbStore>> OpenDatabaseForReading(const std::string& path);
// Returns the database's identity, a name that no other database has. Returns an empty name if there is no RocksDB in
// the data directory yet, and an error if the PostgreSQL cannot be opened.
Result<std::string> IdentityOf(const StorageSettings& settings, const std::string& data_dir);

struct StorageOptions {
  StorageSettings settings;
  std::string data_dir;
  std::vector<std::string> own_urls;  // addresses of this relay (StoreOptions in rocksdb_store.h)
  // The kinds whose content can be searched (StoreOptions in rocksdb_store.h, PostgresStoreOptions).
  std::optional<std::vector<uint16_t>> searched_kinds;
  std::string address;          // the URL at which this program listens; empty if there is none
  uint64_t max_disk_bytes = 0;  // the disk budget (StoreOptions in rocksdb_store.h)
  // True for an import: no client reads meanwhile, saved events must be on disk when the call that saves them returns,
  // and they are not announced to other relays.
  bool for_import = false;
};

class Storage {
 public:
  // Opens the store for reading and writing, creates it if it does not exist, and starts the throttle.
  static Result<std::unique_ptr<Storage>> Open(const StorageOptions& options);
  virtual ~Storage() = default;

  virtual EventStore& store() = 0;
  virtual AdaptiveLimiter& limiter() = 0;
  virtual LoadMonitor& monitor() = 0;
  // Reports memory of the program that grows with its load (monitors/own_bytes.h). `bytes` is negative for freed
  // memory.
  virtual void AddOwnBytes(int64_t bytes, OwnUse use) = 0;
  // Return the budget for that memory, and the memory target of the whole program.
  virtual uint64_t own_budget_bytes() const = 0;
  virtual uint64_t memory_target_bytes() const = 0;
  // Returns the directory of the store, or its server and the origin's name, for log messages.
  virtual std::string name() const = 0;
  // Return null if the store uses the other engine.
  virtual const RocksDbMonitor* rocksdb_monitor() const { return nullptr; }
  virtual const PostgresMonitor* postgres_monitor() const { return nullptr; }

  // Passes the events of other relays on the same PostgreSQL to `listener`, until Unfollow
  // (relay/store/siblings/siblings.h). Must be called before this process saves any event. Does nothing for RocksDB.
  virtual Status Follow(SiblingsListener /*listener*/) { return {}; }
  virtual void Unfollow() {}
  // Returns null if the store is not a PostgreSQL.
  virtual PostgresStore* postgres_store() { return nullptr; }
  // Returns null if the store is not a PostgreSQL, and before Follow. The object remains valid after Unfollow.
  virtual Siblings* siblings() { return nullptr; }
};

}  // namespace weir
