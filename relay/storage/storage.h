// Storage: the store that WEIR_STORE names, and the throttle of its engine.
//
//   auto storage = Storage::Open({.settings = settings, .data_dir = "./data"});
//   if (!storage.ok()) …
//   storage.value()->store(), storage.value()->limiter() …
//
// Callers check IsEmbedded before they use what only a RocksDB has: its lock file, taking over from a running relay,
// `weir check`.
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
  std::string store = "rocksdb";  // or postgres://…
  StoreSettings rocksdb;
  PostgresStoreSettings postgres;
  SiblingsSettings siblings;
  MemoryTargetSettings memory;
  LimiterSettings limiter;
  RocksDbMonitorSettings monitor;
  PostgresMonitorSettings postgres_monitor;
};
void Declare(SettingTable& table, StorageSettings& settings);
Status Check(const StorageSettings& settings);
Status CheckStore(std::string_view store);

// Returns true if the store is in the data directory, false if it is on a server that others can reach too.
bool IsEmbedded(const StorageSettings& settings);
bool IsPostgres(std::string_view store);
// Returns "rocksdb", or the address without its password.
std::string StoreName(std::string_view store);

// Opens the store for reading, also beside a relay that has it open.
Result<std::unique_ptr<EventStore>> OpenForReading(const StorageSettings& settings, const std::string& data_dir);
// The same for the RocksDB in this directory.
Result<std::unique_ptr<RocksDbStore>> OpenDatabaseForReading(const std::string& path);
// Returns a name that no other database has; empty if there is no database yet.
Result<std::string> IdentityOf(const StorageSettings& settings, const std::string& data_dir);

struct StorageOptions {
  StorageSettings settings;
  std::string data_dir;
  std::vector<std::string> own_urls;  // for requests to vanish
  std::string address;                // address at which the opening program answers
  bool for_import = false;            // no client reads meanwhile, and settled events have to be on disk
};

class Storage {
 public:
  static Result<std::unique_ptr<Storage>> Open(const StorageOptions& options);
  virtual ~Storage() = default;

  virtual EventStore& store() = 0;
  virtual AdaptiveLimiter& limiter() = 0;
  virtual LoadMonitor& monitor() = 0;
  // Counts memory of the program that grows with its load (monitors/own_bytes.h).
  virtual void AddOwnBytes(int64_t bytes, OwnUse use) = 0;
  virtual uint64_t own_budget_bytes() const = 0;
  virtual uint64_t memory_target_bytes() const = 0;
  // For people to read: a directory, or a server.
  virtual std::string name() const = 0;
  // Null unless the store is on this engine.
  virtual const RocksDbMonitor* rocksdb_monitor() const { return nullptr; }
  virtual const PostgresMonitor* postgres_monitor() const { return nullptr; }

  // If others can share the store: hands on what they save, until Unfollow. Must be called before anything is saved.
  virtual Status Follow(SiblingsListener /*listener*/) { return {}; }
  virtual void Unfollow() {}
  virtual PostgresStore* postgres_store() { return nullptr; }
  virtual Siblings* siblings() { return nullptr; }  // null before Follow; stays after Unfollow
};

}  // namespace weir
