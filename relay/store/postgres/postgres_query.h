// The answer to several filters from a PostgreSQL, slice by slice. No connection is held between slices, and no
// snapshot: what was deleted or replaced since the query was made may be missing, what was saved since is passed over
// by its serial.
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
  // A filter on its way: it collects matches up to its limit, then looks whether the limit cut any off.
  struct Part {
    Filter filter;
    Work tag_work = 0;
    uint64_t left = 0;  // matches until its limit
    bool done = false;
    std::optional<PlanChoice> choice;  // that its scans make
    std::unique_ptr<PostgresScan> scan;
  };
  struct Candidate {
    FoundEvent event;
    std::vector<uint32_t> parts;  // whose scans lead to it
    size_t matched = 0;           // of these, that were held against it; those that do not match are kNoPart
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
  Work work_end_ = 0;         // of this slice
  uint64_t looks_since_ = 0;  // visits when the last limit was reached
  uint64_t bytes_ = 0;        // handed out in this slice
  std::optional<EventPlace> judged_;
  std::deque<Candidate> found_;
  uint64_t record_bytes_ = 1024;  // the mean of those that were read last
  uint64_t at_once_ = 0;          // that were read last
};

}  // namespace weir
