// PostgresQuery: answers several filters from a PostgreSQL, slice by slice. Between slices it holds no connection and
// no snapshot: events that were deleted or replaced since the query was made may be missing, and events saved since are
// passed over by their serial.
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
  PostgresQuery(SessionPool& sessions, Duration patience, std::vector<Filter> filters, const QueryOptions& options);

  Result<Progress> Next(const Slice& slice, const OnMatch& on_match) override;
  const Moment& moment() const override { return moment_; }
  bool complete() const override { return complete_; }
  uint64_t visits() const override { return visits_; }
  Work work() const override { return work_; }
  void Suspend() override;
  uint64_t held_bytes() const override;

 private:
  // One of the filters: it collects matches up to its limit, then looks whether the limit cut any off.
  struct Part {
    Filter filter;
    Work tag_work = 0;
    uint64_t left = 0;  // matches left until its limit
    bool done = false;
    std::optional<PlanChoice> choice;  // the index that its scans use
    std::unique_ptr<PostgresScan> scan;
  };
  struct Candidate {
    FoundEvent event;
    std::vector<uint32_t> parts;  // parts whose scans lead to it
    size_t matched = 0;           // how many of them it was matched with; those that do not match are kNoPart
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
  bool has_begun_ = false;
  Moment moment_;
  bool complete_ = true;
  uint64_t visits_ = 0;
  Work work_ = 0;
  Work work_end_ = 0;         // the slice ends at this work
  uint64_t looks_since_ = 0;  // visits when the last limit was reached
  uint64_t bytes_ = 0;        // handed out in this slice
  std::optional<EventPlace> judged_;
  std::deque<Candidate> found_;
  uint64_t record_bytes_ = 1024;  // the mean of those that were read last
  uint64_t at_once_ = 0;          // records that were read last
};

}  // namespace weir
