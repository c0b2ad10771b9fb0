// PostgresNews: what other relays save in a PostgreSQL, as it comes.
//
//   PostgresNews news(store, store.Now().value());
//   for (;;) {
//     auto events = news.Read([&] { return HasSubscribers(); });
//     …
//
// Also what this relay saved without being told of the COMMIT, once its next write has shown it: within a minute, for
// upkeep writes too. What is history to whoever saved it is no news.
//
// A subscription gets each event once: what its query's moment has, it drops, and what that has not is read here after
// the subscription was entered.
//
// Threads: one at a time. The store outlives it.
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
  Serial serial;  // of what is not stored: none
};

class PostgresNews {
 public:
  PostgresNews(PostgresStore& store, Moment since);

  // Since the last call, of each origin in the order of arrival, and a bounded part of it. `anybody_listens` is asked
  // when it is known how far the others are: while nobody does, they are passed over.
  Result<std::vector<SharedEvent>> Read(const std::function<bool()>& anybody_listens);
  // There is more to be read now.
  bool more() const { return more_; }
  // Another process saves under this relay's name. What it saves is news here.
  bool name_is_taken() const { return name_is_taken_; }
  // The store's, on this connection.
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
