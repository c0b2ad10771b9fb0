// PostgresNews: reads the events that other relays have saved in the same PostgreSQL database since the last call of
// Read, so that this relay can pass them to its subscribers. Events of imports (SaveSomeHistory) are not read.
//
//   PostgresNews news(store, store.Now().value());
//   for (;;) {
//     auto events = news.Read([&] { return HasSubscribers(); });
//     …
//
// Read also returns some events of this relay itself: those that were saved although the answer to COMMIT was lost, so
// that subscribers were not notified. The store learns of these events at its next write (PostgresStore::UnknownNews).
// That write comes within a minute, because the relay looks for expired events once a minute.
//
// No subscription misses an event or gets it twice, if the caller heeds one rule. A subscription begins with a query,
// whose moment (serial.h) is known. The caller must not pass an event to a subscription if the event is in that moment,
// because the query has already found it. Read may skip events while there are no subscriptions: it learns the last
// serials before it asks whether there are any, so a subscription that is made later has all skipped events in its
// moment.
//
// Threads: only one thread at a time may use the object. The store must outlive it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "relay/store/postgres/postgres_store.h"

namespace weir {

// An event that Read returns, or that another relay sent.
struct SharedEvent {
  Event event;
  Serial serial;  // its number is 0 if the event is not stored, because it is ephemeral
};

class PostgresNews {
 public:
  // Read will return events that are not in the moment `since`. The constructor does not connect; Read does when
  // necessary.
  PostgresNews(PostgresStore& store, Moment since);

  // Returns the next events, at most 64 of each origin (serial.h) and about 1 MiB in all; those of one origin are in
  // the order of their serials. First asks the database for the last serial of each origin, then calls
  // `anybody_listens` once. If that returns false, skips all events up to these serials and returns none. After an
  // error, the next call continues at the same place.
  Result<std::vector<SharedEvent>> Read(const std::function<bool()>& anybody_listens);
  // Returns true if the last Read has left events that the next Read can return at once.
  bool more() const { return more_; }
  // Returns true if another process has taken this relay's name (WEIR_ORIGIN) in the database. Read then also returns
  // the events of that process.
  bool name_is_taken() const { return name_is_taken_; }
  // Returns true if the last Read found that the database takes no writes.
  bool is_read_only() const { return is_read_only_; }
  // Calls the store's ReadSizes on this connection.
  Status ReadSizes() { return store_.ReadSizes(*session_, patience_); }

 private:
  Result<std::vector<Serial>> FindAhead(Moment* next);
  Result<std::vector<SharedEvent>> ReadArrivals(const std::vector<Serial>& ahead,
                                                const std::optional<PostgresStore::Range>& unknown, Moment* next);

  PostgresStore& store_;
  const std::unique_ptr<PostgresSession> session_;
  const Duration patience_;
  Moment since_;  // has all events that were returned or skipped
  bool more_ = false;
  bool name_is_taken_ = false;
  bool is_read_only_ = false;
};

}  // namespace weir
