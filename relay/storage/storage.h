// Storage: the store that WEIR_STORE names, and the throttle of what it is on.
//
//   auto storage = Storage::Open({.settings = settings, .data_dir = "./data"});
//   if (!storage.ok()) …
//   storage.value()->store(), storage.value()->limiter() …
//
// What is on a RocksDB alone (its lock file, taking over from a running relay, `weir check`) is asked for by
// IsEmbedded.
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

// In the data directory, rather than with a server that others reach too.
bool IsEmbedded(const StorageSettings& settings);
bool IsPostgres(std::string_view store);
// "rocksdb", or the address without its password.
std::string StoreName(std::string_view store);

// Opens the store to read, also beside a relay that has it open.
Result<std::unique_ptr<EventStore>> OpenForReading(const StorageSettings& settings, const std::string& data_dir);
// The same, of a RocksDB by its own directory.
Result<std::unique_ptr<RocksDbStore>> OpenDatabaseForReading(const std::string& path);
// Names this database and no other; empty: there is none yet.
Result<std::string> IdentityOf(const StorageSettings& settings, const std::string& data_dir);

struct StorageOptions {
  StorageSettings settings;
  std::string data_dir;
  std::vector<std::string> own_urls;  // for requests to vanish
  std::string address;                // where who opens it answers
  bool for_import = false;            // nobody reads meanwhile, and what is settled has to be on disk
};

class Storage {
 public:
  static Result<std::unique_ptr<Storage>> Open(const StorageOptions& options);
  virtual ~Storage() = default;

  virtual EventStore& store() = 0;
  virtual AdaptiveLimiter& limiter() = 0;
  virtual LoadMonitor& monitor() = 0;
  // Memory of the program that grows with its load (monitors/own_bytes.h).
  virtual void AddOwnBytes(int64_t bytes, OwnUse use) = 0;
  virtual uint64_t own_budget_bytes() const = 0;
  virtual uint64_t memory_target_bytes() const = 0;
  // For people: a directory, or a server.
  virtual std::string name() const = 0;
  // Null but for the one that it is on.
  virtual const RocksDbMonitor* rocksdb_monitor() const { return nullptr; }
  virtual const PostgresMonitor* postgres_monitor() const { return nullptr; }

  // Where others may share the store: hands on what they save, until Unfollow. Before anybody saves.
  virtual Status Follow(SiblingsListener /*listener*/) { return {}; }
  virtual void Unfollow() {}
  virtual PostgresStore* postgres_store() { return nullptr; }
  virtual Siblings* siblings() { return nullptr; }  // while it is followed, and after
};

}  // namespace weir
