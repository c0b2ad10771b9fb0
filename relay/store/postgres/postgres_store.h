// PostgresStore: the EventStore on PostgreSQL, for relays that share a database.
//
//   auto store = PostgresStore::Open({.conninfo = "postgres://weir@db1,db2/relay", .origin = "relay-1"});
//   if (!store.ok()) …  // says what is wrong: no server, no rights, a standby, tables of a newer weir
//
// Tables: see schema.h. Each piece that is saved is one transaction, in three journeys to the server: what is known,
// what changes, COMMIT. An OK means that COMMIT was answered; if the server has synchronous standbys, by them too.
// Every process that saves is an origin with a name of its own.
//
// Saved events are news to the relays that share the database (postgres_news.h). Only history is not: it has a second
// origin, "name (history)".
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "relay/store/event_store.h"
#include "relay/store/postgres/schema.h"
#include "relay/store/postgres/session_pool.h"
#include "relay/store/store_walk.h"

namespace weir {

class SettingTable;

struct PostgresStoreSettings {
  std::string origin;                        // WEIR_ORIGIN
  uint64_t connections = 8;                  // WEIR_POSTGRES_CONNECTIONS
  std::chrono::milliseconds timeout{10000};  // WEIR_POSTGRES_TIMEOUT_MS
};

void Declare(SettingTable& table, PostgresStoreSettings& settings);

// Returns an address that selects, among several hosts, the one that takes writes.
std::string WithWritableHost(const std::string& conninfo);

struct PostgresStoreOptions {
  std::string conninfo;  // in libpq's form
  PostgresStoreSettings settings;
  std::vector<std::string> own_urls;  // see StoreOptions
  bool read_only = false;             // for reading: a standby will do, nothing is written
  bool create = true;                 // false: missing tables are an error
  bool is_history = false;            // everything that it saves is history
};

class PostgresEdit;

class PostgresStore final : public EventStore {
 public:
  static Result<std::unique_ptr<PostgresStore>> Open(const PostgresStoreOptions& options);

  Result<size_t> SaveSome(std::span<const Event> events, uint64_t now_seconds, Work most,
                          std::span<SaveResult> results) override;
  Result<size_t> SaveSomeHistory(std::span<const Event> events, uint64_t now_seconds, Work most,
                                 std::span<SaveResult> results) override;
  Result<OwedPiece> RemoveVanished(Work most) override;
  Result<OwedPiece> RemoveExpired(uint64_t now_seconds, Work most) override;
  bool owes_vanishing() const override { return owes_vanishing_ || others_owe_; }
  Result<std::vector<bool>> Stored(std::span<const EventId> ids) const override;
  Result<std::vector<bool>> StoredSigned(std::span<const EventView> events) const override;
  std::unique_ptr<Query> Find(std::vector<Filter> filters, const QueryOptions& options) const override;
  Result<uint64_t> Delete(std::span<const EventId> ids) override;
  Result<Moment> Now() const override;
  Status ScanAll(const Moment& after, const Moment& until,
                 const std::function<bool(Serial serial, EventView event)>& visit) const override;
  Status Flush() override { return {}; }
  StoreSizes Sizes() const override { return {.events = events_, .disk_bytes = disk_bytes_}; }

  // Returns a connection of the caller's own, which is not connected yet.
  std::unique_ptr<PostgresSession> NewSession() const;
  // The address of the server; if this store writes, with the demand for a host that takes writes.
  std::string conninfo() const;
  Status Connect(PostgresSession& session) const { return Connect(session, options_.settings.timeout); }
  Status Connect(PostgresSession& session, Duration patience) const;
  // Takes marks of another store and removes what they name; RemoveVanished then removes what vanished authors left.
  Status CopyMarks(Shelf shelf, std::span<const ShelfEntry> marks);
  // Returns the line of text that is kept under a name as long as the tables are; "": none.
  Result<std::string> Note(const std::string& name) const;
  Status SetNote(const std::string& name, const std::string& text);
  // Decides about an event as Save would now, but saves nothing.
  Result<SaveOutcome> Judge(const Event& event, uint64_t now_seconds);
  // Renews the statistics by which the server guesses its plans. To be called after many events were saved at once.
  Status Analyze();
  // Asks the server for the sizes, which other relays change too.
  Status ReadSizes(PostgresSession& session, Duration patience);
  const PostgresOrigin& origin() const { return origin_; }
  const std::string& database() const { return database_; }  // a token that no other has
  const PostgresStoreOptions& options() const { return options_; }

  // Returns the oldest range of serials of this origin, behind the first and up to the second, whose COMMIT was lost on
  // the way but had been done. A caller that has told of a part of them lets go of that part.
  using Range = std::pair<uint64_t, uint64_t>;
  std::optional<Range> UnknownNews() const;
  void LetGoOfUnknownNews(uint64_t until);
  // Notes whether a request to vanish that any relay saved is yet to be done.
  void NoteOthersOwe(bool owe) { others_owe_ = owe; }
  // Sets the function that is called on the thread that saves, when there is news for others. Must be set while nothing
  // is saved.
  void OnSaved(std::function<void()> tell) { tell_ = std::move(tell); }

 private:
  explicit PostgresStore(const PostgresStoreOptions& options);
  Status OpenAll();
  Result<size_t> SaveAs(PostgresOrigin& origin, std::span<const Event> events, uint64_t now_seconds, Work most,
                        std::span<SaveResult> results);
  // Does `work` on the connection that writes, in one transaction; does it again if another relay was faster.
  Status Write(PostgresOrigin& origin, bool alone, const std::function<Status(PostgresEdit& edit)>& work);
  Status RemoveMarked(Shelf shelf, std::span<const ShelfEntry> marks);
  Result<bool> RemoveWraps(PostgresEdit& edit, const PublicKey& recipient, int64_t until, Work most);
  void Count(const PostgresEdit& edit);
  void Confirm(PostgresOrigin& origin, const PostgresEdit& edit);

  const PostgresStoreOptions options_;
  mutable SessionPool readers_;
  PostgresSession writer_;
  std::string database_;
  PostgresOrigin origin_;
  PostgresOrigin history_;  // without a name until something is saved there
  bool has_saved_ = false;
  std::function<void()> tell_;
  mutable std::mutex mutex_;  // protects unknown_news_
  std::deque<Range> unknown_news_;
  std::atomic<bool> owes_vanishing_ = true;  // an earlier process may have left something
  std::atomic<bool> others_owe_ = false;
  std::atomic<uint64_t> events_ = 0;
  std::atomic<uint64_t> disk_bytes_ = 0;
};

}  // namespace weir
