// Storage: opens the event store that the setting WEIR_STORE names (RocksDB or PostgreSQL), together with the throttle
// that protects its database from too much work (throttle/adaptive_limiter.h).
//
//   auto storage = Storage::Open({.settings = settings, .data_dir = "./data"});
//   if (!storage.ok()) …
//   storage.value()->store(), storage.value()->limiter() …
//
// Some things exist only for RocksDB: its lock file, taking over from a running relay, `weir check`. Callers must check
// IsEmbedded before they use them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "monitors/memory_target.h"
#include "monitors/postgres/postgres_monitor.h"
#include "monitors/rocksdb_monitor.h"
#include "relay/siblings/siblings.h"
#include "relay/store/postgres/postgres_store.h"
#include "relay/store/rocksdb_store.h"
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
// Returns an error that names the setting and says what is wrong with it.
Status Check(const StorageSettings& settings);
// Does the same for the value of WEIR_STORE alone.
Status CheckStore(std::string_view store);

// Returns true if the store is a RocksDB in the data directory, false if it is a PostgreSQL on a server that other
// programs can reach, too.
bool IsEmbedded(const StorageSettings& settings);
// Returns true if `store` is an address of a PostgreSQL.
bool IsPostgres(std::string_view store);
// Returns `store` with "***" instead of a password.
std::string StoreName(std::string_view store);

// Opens an existing store for reading. A relay may have it open at the same time.
Result<std::unique_ptr<EventStore>> OpenForReading(const StorageSettings& settings, const std::string& data_dir);
// Does the same for the RocksDB in the directory `path`.
Result<std::unique_ptr<RocksDbStore>> OpenDatabaseForReading(const std::string& path);
// Returns a name that no other database has. Returns an empty name if there is no RocksDB in the data directory yet,
// and an error if the PostgreSQL cannot be opened.
Result<std::string> IdentityOf(const StorageSettings& settings, const std::string& data_dir);

struct StorageOptions {
  StorageSettings settings;
  std::string data_dir;
  std::vector<std::string> own_urls;  // addresses of this relay: requests to vanish that name one are carried out
  std::string address;                // the host and port at which this program answers; empty: none
  // The program imports events: no client reads meanwhile, events that were saved must be on disk when the call
  // returns, and they are not announced to other relays.
  bool for_import = false;
};

class Storage {
 public:
  // Opens the store for reading and writing, creates it if there is none, and starts the throttle.
  static Result<std::unique_ptr<Storage>> Open(const StorageOptions& options);
  virtual ~Storage() = default;

  virtual EventStore& store() = 0;
  virtual AdaptiveLimiter& limiter() = 0;
  virtual LoadMonitor& monitor() = 0;
  // Reports memory of the program that grows with its load (monitors/own_bytes.h); a negative number if it is freed.
  virtual void AddOwnBytes(int64_t bytes, OwnUse use) = 0;
  virtual uint64_t own_budget_bytes() const = 0;
  virtual uint64_t memory_target_bytes() const = 0;
  // Returns the directory or the server of the store, for log messages.
  virtual std::string name() const = 0;
  // Each of these two functions returns null if the store is on the other engine.
  virtual const RocksDbMonitor* rocksdb_monitor() const { return nullptr; }
  virtual const PostgresMonitor* postgres_monitor() const { return nullptr; }

  // Passes the events of other relays on the same PostgreSQL to `listener`, until Unfollow (relay/siblings/siblings.h).
  // Must be called before any event is saved. Does nothing for RocksDB.
  virtual Status Follow(SiblingsListener /*listener*/) { return {}; }
  virtual void Unfollow() {}
  // Returns null if the store is not a PostgreSQL.
  virtual PostgresStore* postgres_store() { return nullptr; }
  // Returns null if the store is not a PostgreSQL, and before Follow. The object stays after Unfollow.
  virtual Siblings* siblings() { return nullptr; }
};

}  // namespace weir
