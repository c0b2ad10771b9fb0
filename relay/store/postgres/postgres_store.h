// PostgresStore: the EventStore on a PostgreSQL, for relays that share one.
//
//   auto store = PostgresStore::Open({.conninfo = "postgres://weir@db1,db2/relay", .origin = "relay-1"});
//   if (!store.ok()) …  // says what is wrong: nobody there, no rights, a standby, tables of a newer weir
//
// Tables: see schema.h. What is saved is one transaction for each piece, in three journeys: what is known, what
// changes, COMMIT. An OK means that COMMIT was answered; where the server has synchronous standbys, by them too. Every
// process that saves is an origin with a name of its own.
//
// What is deleted by one relay while another saves it is seen by neither; the other's tail does it again
// (event_tail.h).
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "relay/store/event_store.h"
#include "relay/store/postgres/schema.h"
#include "relay/store/postgres/session_pool.h"

namespace weir {

class SettingTable;

struct PostgresStoreSettings {
  std::string origin;                        // WEIR_ORIGIN
  uint64_t connections = 8;                  // WEIR_POSTGRES_CONNECTIONS
  std::chrono::milliseconds timeout{10000};  // WEIR_POSTGRES_TIMEOUT_MS
};

void Declare(SettingTable& table, PostgresStoreSettings& settings);

struct PostgresStoreOptions {
  std::string conninfo;  // as libpq has it
  PostgresStoreSettings settings;
  std::vector<std::string> own_urls;  // as in StoreOptions
  bool read_only = false;             // for those who look: a standby will do, nothing is written
  bool create = true;                 // false: where there are no tables it is an error
};

class PostgresEdit;

class PostgresStore final : public EventStore {
 public:
  static Result<std::unique_ptr<PostgresStore>> Open(const PostgresStoreOptions& options);

  Result<size_t> SaveSome(std::span<const Event> events, uint64_t now_seconds, Work most,
                          std::span<SaveResult> results) override;
  Result<OwedPiece> RemoveVanished(Work most) override;
  Result<OwedPiece> RemoveExpired(uint64_t now_seconds, Work most) override;
  bool owes_vanishing() const override { return owes_vanishing_; }
  Result<std::vector<bool>> Stored(std::span<const EventId> ids) const override;
  Result<std::vector<bool>> StoredSigned(std::span<const EventView> events) const override;
  std::unique_ptr<Query> Find(std::vector<Filter> filters, const QueryOptions& options) const override;
  Result<uint64_t> Delete(std::span<const EventId> ids) override;
  Result<Moment> Now() const override;
  Status ScanAll(const Moment& after, const std::function<bool(Serial serial, EventView event)>& visit) const override;
  Status Flush() override { return {}; }
  StoreSizes Sizes() const override { return {.events = events_, .disk_bytes = disk_bytes_}; }

  // Asks the server for the sizes, which other relays change too.
  Status ReadSizes();
  const PostgresOrigin& origin() const { return origin_; }
  const PostgresStoreOptions& options() const { return options_; }

 private:
  explicit PostgresStore(const PostgresStoreOptions& options);
  Status OpenAll();
  // Does it on the connection that writes, in one transaction; again where another relay was faster.
  template <typename Do>
  Status Write(Do&& work);
  Status ConnectWriter();
  void Count(const PostgresEdit& edit);

  const PostgresStoreOptions options_;
  mutable SessionPool readers_;
  PostgresSession writer_;
  PostgresOrigin origin_;
  std::atomic<bool> owes_vanishing_ = true;  // somebody before this may have left something
  std::atomic<uint64_t> events_ = 0;
  std::atomic<uint64_t> disk_bytes_ = 0;
};

}  // namespace weir
