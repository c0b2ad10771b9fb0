// PostgresNews: reads the events that other relays have saved in the same PostgreSQL since the last Read.
//
//   PostgresNews news(store, store.Now().value());
//   for (;;) {
//     auto events = news.Read([&] { return HasSubscribers(); });
//     …
//
// It also reads events that this relay itself has saved if the connection was lost before the answer to COMMIT came.
// The relay's next write finds these events; that write comes within a minute, because the relay looks for expired
// events once a minute. Events of imports (SaveSomeHistory) are not read.
//
// Each subscription gets each event once. It drops events that are in the moment of its query (serial.h), and Read
// returns all others only after the subscription was made.
//
// Threads: only one thread at a time may use it. The store must outlive it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "relay/store/postgres/postgres_store.h"

namespace weir {

// An event of another relay.
struct SharedEvent {
  Event event;
  Serial serial;  // number 0 if the event is not stored (ephemeral events)
};

class PostgresNews {
 public:
  // Events of the moment `since` are not read. Read connects when it has to.
  PostgresNews(PostgresStore& store, Moment since);

  // Returns the next events, up to about 1 MiB; the events of one origin are in the order of their serials. Calls
  // `anybody_listens` once, after it has asked the database for the last serials; if the function returns false, all
  // events up to these serials are skipped. After an error the next call continues at the same place.
  Result<std::vector<SharedEvent>> Read(const std::function<bool()>& anybody_listens);
  // Returns true if the last Read has left events that can be read at once.
  bool more() const { return more_; }
  // Returns true if another process has taken this relay's name in the database (WEIR_ORIGIN). Read then returns the
  // events of that process.
  bool name_is_taken() const { return name_is_taken_; }
  // Calls the store's ReadSizes on this connection.
  Status ReadSizes() { return store_.ReadSizes(*session_, patience_); }

 private:
  Result<std::vector<Serial>> FindAhead(Moment* next);
  Result<std::vector<SharedEvent>> ReadArrivals(const std::vector<Serial>& ahead,
                                                const std::optional<PostgresStore::Range>& unknown, Moment* next);

  PostgresStore& store_;
  const std::unique_ptr<PostgresSession> session_;
  const Duration patience_;
  Moment since_;  // the events that were read or skipped
  bool more_ = false;
  bool name_is_taken_ = false;
};

}  // namespace weir
