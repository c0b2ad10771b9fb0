// PostgresQuery: the Query (event_store.h) of the store on PostgreSQL. Between slices it holds no connection and no
// snapshot, so events that were deleted or replaced since the query began may be missing from the answer. The serials
// of events tell it which ones were saved since then. It skips these, except for some that are replaceable or
// addressable, because the version that they have replaced is gone. matching_query.h has the rest.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "relay/store/matching_query.h"
#include "relay/store/postgres/postgres_scan.h"
#include "relay/store/postgres/session_pool.h"

namespace weir {

class PostgresQuery final : public MatchingQuery<PostgresScan> {
 public:
  // Takes a session from `sessions` for each slice. `patience` is the longest wait for a reply of the server.
  // `sessions` must outlive the query.
  PostgresQuery(SessionPool& sessions, Duration patience, std::vector<Filter> filters, const QueryOptions& options);

  Result<Progress> Next(const Slice& slice, const OnMatch& on_match) override;
  void Suspend() override;
  uint64_t held_bytes() const override;
  // Sets the moment of the query, instead of the one at which Next is first called.
  void Use(const Moment& moment) {
    moment_ = moment;
    has_begun_ = true;
    keeps_to_moment_ = true;
  }

 private:
  // A part whose scan has found an event.
  struct Finder {
    uint32_t part = 0;  // index in parts_; kNoPart if the event does not match the part's filter
  };
  // An event that may match.
  struct Candidate {
    FoundEvent event;
    std::vector<Finder> finders;
  };

  Result<Progress> Walk(PostgresSession& session, const Slice& slice, const OnMatch& on_match);
  Result<Progress> Begin(PostgresSession& session);
  Status Refill(PostgresSession& session);
  bool Collect();
  Status ReadRecords(PostgresSession& session);
  bool Judge(const OnMatch& on_match);
  bool MayAdopt(const FoundEvent& event) const;

  SessionPool& sessions_;
  const Duration patience_;
  bool has_begun_ = false;                          // moment_ was read
  bool keeps_to_moment_;                            // no newer version is handed out
  std::vector<std::optional<PlanChoice>> choices_;  // the index that each part's scans use; null until it is chosen
  std::deque<Candidate> found_;                     // the next events, in the order of the answer
  uint64_t record_bytes_ = 1024;                    // the mean size of the records that were read last
  uint64_t at_once_ = 0;                            // number of records that were read last
};

}  // namespace weir
