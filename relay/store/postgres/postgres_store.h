// PostgresStore: the EventStore (event_store.h) on PostgreSQL, for relays that share a database.
//
//   auto store = PostgresStore::Open({.conninfo = "postgres://weir@db1,db2/relay", .settings = {.origin = "relay-1"}});
//   if (!store.ok()) …  // says what is wrong: no server, no rights, a standby, tables of a newer weir
//
// schema.h has the tables. Each call of SaveSome is one transaction, which is repeated if another relay was faster. A
// transaction that writes takes at least three round trips to the server: one to read what it needs, one to write the
// changes, and one for the COMMIT. When SaveSome returns without an error, the server has answered COMMIT; if the
// server has synchronous standbys, they have the events, too. A COMMIT without a good answer leaves the store in doubt:
// its events may be on the primary alone. The next edit then locks all origins, so that the earlier transactions of
// this process have ended, and commits even without changes. Standbys that have its COMMIT have the earlier ones, too.
//
// Every process that saves has an origin (serial.h) with a name of its own. Queries at every relay find all stored
// events. Each relay also reads the events that other relays save, and passes them to its subscribers
// (postgres_news.h). It does not do so with events of imports, which have origins of their own: "name (history)" for an
// import through a relay, "name/import" for `weir import` on the database itself.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "config/mutex.h"
#include "relay/store/event_store.h"
#include "relay/store/postgres/schema.h"
#include "relay/store/postgres/session_pool.h"
#include "relay/store/store_walk.h"

namespace weir {

class SettingTable;

struct PostgresStoreSettings {
  std::string origin;                        // WEIR_ORIGIN: the name of this process in the database
  uint64_t connections = 32;                 // WEIR_POSTGRES_CONNECTIONS: the most connections for reading
  uint64_t least_connections = 2;            // WEIR_POSTGRES_LEAST_CONNECTIONS: the pool begins with so many
  std::chrono::milliseconds timeout{10000};  // WEIR_POSTGRES_TIMEOUT_MS: the longest wait for an answer
};

// Adds the settings to `table` (config/settings.h), which writes to `settings`.
void Declare(SettingTable& table, PostgresStoreSettings& settings);

// Returns `conninfo` with target_session_attrs=read-write, so that libpq, if there are several hosts, selects one that
// accepts writes. Returns `conninfo` unchanged if it sets that option itself.
std::string WithWritableHost(const std::string& conninfo);

struct PostgresStoreOptions {
  std::string conninfo;  // the address in libpq's form: postgres://… or key=value pairs
  PostgresStoreSettings settings;
  std::vector<std::string> own_urls;  // addresses of this relay (StoreOptions in rocksdb_store.h)
  bool read_only = false;             // writes nothing, takes no origin name, and may use a standby
  bool create = true;                 // false: missing tables are an error
  // The kinds whose content this process searches, sorted; none: it does not search, and saves no words
  // (postgres_word_build.h). The words of other processes stay.
  std::vector<uint16_t> searched_kinds;
  bool is_history = false;  // true: for imports; the subscribers of other relays do not get the saved events
  const Clock* clock = &Clock::System();  // measures the waits for pages of a sample (Groups)
};

class PostgresEdit;
class SearchedEvents;

class PostgresStore final : public EventStore {
 public:
  // Connects, makes the tables if necessary, and takes the origin's name. A process that had the name before cannot
  // save any more.
  static Result<std::unique_ptr<PostgresStore>> Open(const PostgresStoreOptions& options);
  ~PostgresStore() override;

  Result<size_t> SaveSome(std::span<const Event> events, uint64_t now_seconds, Work most,
                          std::span<SaveResult> results) override;
  Result<size_t> SaveSomeHistory(std::span<const Event> events, uint64_t now_seconds, Work most,
                                 std::span<SaveResult> results) override;
  Result<OwedPiece> RemoveVanished(Work most) override;
  Result<OwedPiece> RemoveExpired(uint64_t now_seconds, Work most) override;
  Result<OwedPiece> RemoveAuthor(const PublicKey& author, std::string* resume, Work most) override;
  Result<OwedPiece> BuildSearch(Work most) override;
  Work SearchWork(EventView event) const override;
  Status WriteMemos(std::span<const Memo> changes) override;
  // Has a connection of its own, so that it does not wait while clients use all others.
  Result<uint64_t> ReadMemos(uint64_t after, const std::function<void(const Memo& memo)>& visit) const override;
  bool is_shared() const override { return true; }
  bool owes_vanishing() const override { return owes_vanishing_ || others_owe_; }
  // The store is in doubt at first, because an earlier process with this name may have left such events; and while a
  // COMMIT takes longer than usual, because the server shows its events to readers as soon as the wait for a standby
  // is cancelled, before this process can know.
  bool in_doubt() const override;
  // Returns an error once a save has failed because another process has the name of this one. The error ends if a save
  // succeeds after all, for example because a server was promoted that does not know the other process.
  Status Stuck() const override;
  Result<std::vector<bool>> Stored(std::span<const EventId> ids) const override;
  Result<std::vector<bool>> StoredEvents(std::span<const EventView> events) const override;
  Result<std::vector<bool>> StoredSigned(std::span<const EventView> events) const override;
  std::unique_ptr<Query> Find(std::vector<Filter> filters, const QueryOptions& options) const override;
  Result<OwedPiece> DeleteSome(std::span<const EventId>* ids, Work most) override;
  Result<Moment> Now() const override;
  Status ScanAll(const Moment& after, const Moment& until,
                 const std::function<bool(Serial serial, EventView event)>& visit) const override;
  // A group is a page of the table, or of a partition. None can be made if a partition lies on another server.
  Result<std::vector<EventGroups>> Groups(const Moment& moment) const override;
  Status Flush() override { return {}; }
  StoreSizes Sizes() const override;

  // Returns a new session for the caller; it is not connected yet.
  std::unique_ptr<PostgresSession> NewSession() const;
  // Returns the address of the server. Unless the store is read-only, the address selects a host that accepts writes.
  std::string conninfo() const;
  // Connects a session and tunes it for this store's statements (Tune in schema.h).
  Status Connect(PostgresSession& session) const { return Connect(session, options_.settings.timeout); }
  Status Connect(PostgresSession& session, Duration patience) const;
  // Adds marks that another store has, and removes the events that they cover from this store. Marks of vanished
  // authors are an exception: CopyMarks only adds them, and the caller must then call RemoveVanished, which removes the
  // events of these authors.
  Status CopyMarks(Shelf shelf, std::span<const ShelfEntry> marks);
  // Return and set a note, which is a line of text that the database keeps under a name. Note returns an empty string
  // if there is no such note.
  Result<std::string> Note(const std::string& name) const;
  Status SetNote(const std::string& name, const std::string& text);
  // Returns the outcome that saving the event would have now, but saves nothing. The store must not be read-only.
  Result<SaveOutcome> Judge(const Event& event, uint64_t now_seconds);
  // Renews the statistics from which the server makes its plans. Should be called after many events were saved at once.
  Status Analyze();
  // Asks the server for the sizes, because other relays change them, too. From then on, Sizes returns the new values.
  Status ReadSizes(PostgresSession& session, Duration patience);
  PoolStats ReaderStats() const { return readers_.Stats(); }
  // Returns an error if reads cannot be answered now (SessionPool::Health).
  Status ReadHealth() const { return readers_.Health(); }
  // Closes connections for reading that were not needed for a while. Should be called now and then.
  void CloseIdleReaders() { readers_.CloseIdle(); }
  const PostgresOrigin& origin() const { return origin_; }
  // Returns the kinds whose words this process uses: if it is read-only, those of the database; otherwise none if it
  // does not search, and its own with those of the database if it does.
  std::vector<uint16_t> searched_kinds() const;
  const std::string& database() const { return database_; }  // a token that no other database has
  const PostgresStoreOptions& options() const { return options_; }

  // The next two functions are for events that this process has saved, but for which the answer to COMMIT was lost.
  // SaveSome then returned an error, and subscribers were not notified.
  //
  // UnknownNews returns the oldest range of serials of such events, from the first number (exclusive) to the second
  // (inclusive), or nullopt. When the caller has announced the events of this range up to the serial `until`, it must
  // call LetGoOfUnknownNews, which removes that part of the range. LetGoOfUnknownNews may be called only while there is
  // such a range. Both functions may be called from any thread.
  using Range = std::pair<uint64_t, uint64_t>;
  std::optional<Range> UnknownNews() const;
  void LetGoOfUnknownNews(uint64_t until);
  // Tells the store whether any relay still has to remove events of authors who asked to vanish (owes_vanishing). May
  // be called from any thread.
  void NoteOthersOwe(bool owe) { others_owe_ = owe; }
  // Sets a function that SaveSome calls, on the thread that saves, after each write that added events. It is not called
  // for SaveSomeHistory. Must be set while no thread saves; an empty function ends the calls.
  void OnSaved(std::function<void()> tell) { tell_ = std::move(tell); }

 private:
  // A wait for a standby that is cancelled has lasted longer than this.
  static constexpr Duration kUsualCommit = std::chrono::milliseconds(200);

  explicit PostgresStore(const PostgresStoreOptions& options);
  Status OpenAll();
  Status OpenSearch(Duration patience);  // sets searched_
  Status TakeHistory();                  // sets history_
  Result<size_t> SaveAs(PostgresOrigin& origin, std::span<const Event> events, uint64_t now_seconds, Work most,
                        std::span<SaveResult> results);
  // Calls `work` with an edit on the connection that writes, and commits the edit. Does both again with a new edit, up
  // to 20 times, if another relay has changed data that the edit relied on, and once if the connection was lost while
  // it was idle. If `alone` is true, or in_doubt(), the edit locks all origins. Returns the number of events that the
  // edit has removed.
  Result<uint64_t> Write(PostgresOrigin& origin, bool alone, const std::function<Status(PostgresEdit& edit)>& work);
  Status RemoveMarked(Shelf shelf, std::span<const ShelfEntry> marks);
  Result<uint64_t> RemoveAll(const PostgresStatement& statement, const PostgresValues& values,
                             const std::function<bool(EventView event)>& is_meant = {});
  Result<bool> RemoveSome(PostgresEdit& edit, const PostgresStatement& statement, const PostgresValues& key,
                          int64_t until, Work most, const std::function<bool(EventView event)>& is_meant);
  Status ReadWordSizes(PostgresSession& session, Duration patience);
  Result<std::vector<bool>> FindStored(std::span<const EventId> ids, const PostgresStatement& statement,
                                       const PostgresValues& values) const;
  Result<Work> ReadPage(uint64_t page, uint64_t after, int64_t first, int64_t last,
                        const EventGroups::Visit& visit) const;
  void Count(const PostgresEdit& edit);
  void Confirm(PostgresOrigin& origin, const PostgresEdit& edit);

  const PostgresStoreOptions options_;
  mutable SessionPool readers_;
  mutable SessionPool memo_reader_;
  PostgresSession writer_;
  std::string database_;
  std::unique_ptr<const SearchedEvents> searched_;  // null if this process does not search
  PostgresOrigin origin_;
  PostgresOrigin history_;      // the second origin; without a name until something is saved there
  bool lacks_place_ = false;    // the last Write failed because the database has no partition for an event
  bool has_saved_ = false;      // true once a save has locked all origins; false again when this process takes a name
  std::function<void()> tell_;  // set by OnSaved
  mutable Mutex mutex_;
  std::deque<Range> unknown_news_ WEIR_GUARDED_BY(mutex_);
  Status stuck_ WEIR_GUARDED_BY(mutex_);
  std::atomic<bool> owes_vanishing_ = true;  // true at first, because an earlier process may not have finished
  std::atomic<bool> others_owe_ = false;     // set by NoteOthersOwe
  std::atomic<bool> in_doubt_ = true;        // a COMMIT failed or had no answer, or none was sent yet
  std::atomic<TimePoint> committing_since_{};
  std::atomic<uint64_t> events_ = 0;
  std::atomic<uint64_t> disk_bytes_ = 0;
  std::atomic<uint64_t> unsearched_ = 0;
  std::atomic<uint64_t> search_bytes_ = 0;
};

}  // namespace weir
