// PostgresQuery: the Query (event_store.h) of the store on PostgreSQL. Between slices it holds no connection and no
// snapshot, so events that were deleted or replaced since the query began may be missing from the answer. The serials
// of events tell it which ones were saved since then; it skips these.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "relay/store/event_store.h"
#include "relay/store/postgres/postgres_scan.h"
#include "relay/store/postgres/session_pool.h"

namespace weir {

class PostgresQuery final : public Query {
 public:
  // Takes a session from `sessions` for each slice. `patience` is the longest wait for a reply of the server.
  // `sessions` must outlive the query.
  PostgresQuery(SessionPool& sessions, Duration patience, std::vector<Filter> filters, const QueryOptions& options);

  Result<Progress> Next(const Slice& slice, const OnMatch& on_match) override;
  const Moment& moment() const override { return moment_; }
  bool complete() const override { return complete_; }
  uint64_t visits() const override { return visits_; }
  Work work() const override { return work_; }
  void Suspend() override;
  uint64_t held_bytes() const override;

 private:
  // One of the filters. It collects matches up to its limit and then looks whether there is another match.
  struct Part {
    Filter filter;
    Work tag_work = 0;                   // work of matching one tag of an event (TagWorkOf)
    uint64_t left = 0;                   // matches left until the limit
    bool done = false;                   // the filter needs no more rows
    std::optional<PlanChoice> choice;    // the index that its scans use; null until it is chosen
    std::unique_ptr<PostgresScan> scan;  // null before it begins, if `done`, and while the query is suspended
  };
  // An event that may match.
  struct Candidate {
    FoundEvent event;
    std::vector<uint32_t> parts;  // the parts whose scans have found it; kNoPart for those that it does not match
    size_t matched = 0;           // number of `parts` that it was matched with so far
  };

  Result<Progress> Walk(PostgresSession& session, const Slice& slice, const OnMatch& on_match);
  Result<Progress> Begin(PostgresSession& session);
  bool Finished();
  uint64_t Wanted() const;
  Status Refill(PostgresSession& session);
  bool Collect();
  Status ReadRecords(PostgresSession& session, const Slice& slice);
  bool Match(Candidate* candidate);
  void HandOut(const Candidate& candidate, const OnMatch& on_match);
  bool UsedUp() const { return work_ >= work_end_; }

  SessionPool& sessions_;
  const Duration patience_;
  const QueryOptions options_;
  std::vector<Part> parts_;
  bool has_begun_ = false;  // moment_ was read
  Moment moment_;
  bool complete_ = true;
  uint64_t visits_ = 0;
  Work work_ = 0;
  Work work_end_ = 0;                 // the slice ends at this work
  uint64_t looks_since_ = 0;          // the number of visits when the last part reached its limit
  uint64_t bytes_ = 0;                // bytes of JSON that were passed to the caller in this slice
  std::optional<EventPlace> judged_;  // the last event that was matched, or QueryOptions::after; scans begin behind it
  std::deque<Candidate> found_;       // the next events, in the order of the answer
  uint64_t record_bytes_ = 1024;      // the mean size of the records that were read last
  uint64_t at_once_ = 0;              // number of records that were read last
};

}  // namespace weir
