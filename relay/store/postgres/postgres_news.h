// PostgresNews: the events that other relays save in a PostgreSQL, as they come.
//
//   PostgresNews news(store, store.Now().value());
//   for (;;) {
//     auto events = news.Read([&] { return HasSubscribers(); });
//     …
//
// It also gives events that this relay saved without being told of the COMMIT, once its next write has shown them:
// within a minute, because upkeep writes too. Events that were saved as history are no news.
//
// A subscription gets each event once: it drops events that its query's moment has, and the others are read here after
// the subscription was entered.
//
// Threads: one at a time. The store must outlive it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "relay/store/postgres/postgres_store.h"

namespace weir {

struct SharedEvent {
  Event event;
  Serial serial;  // default if the event is not stored
};

class PostgresNews {
 public:
  PostgresNews(PostgresStore& store, Moment since);

  // Returns a bounded part of the events since the last call, for each origin in the order of arrival.
  // `anybody_listens` is asked once it is known how far the others are: while it returns false, events are passed over.
  Result<std::vector<SharedEvent>> Read(const std::function<bool()>& anybody_listens);
  // True if there is more to read now.
  bool more() const { return more_; }
  // True if another process saves under this relay's name. Its events are news here.
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
  Moment since_;
  bool more_ = false;
  bool name_is_taken_ = false;
};

}  // namespace weir
