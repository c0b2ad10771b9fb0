// StoreQuery: answers several filters slice by slice. It merges the filters' scans, fetches records together, matches
// them, and hands each event out once.
//
// Between slices it keeps the places of its scans and the snapshot; while suspended, only the last event that it
// judged.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "relay/store/database.h"
#include "relay/store/event_store.h"
#include "relay/store/index_scan.h"
#include "relay/store/record_lookup.h"

namespace weir {

class StoreQuery final : public Query {
 public:
  StoreQuery(const Database& database, std::vector<Filter> filters, const QueryOptions& options);

  Result<Progress> Next(const Slice& slice, const OnMatch& on_match) override;
  const Moment& moment() const override { return moment_; }
  bool complete() const override { return complete_; }
  uint64_t visits() const override { return budget_.visits; }
  Work work() const override { return work_; }
  void Suspend() override;
  uint64_t held_bytes() const override;

 private:
  // One of the filters: it collects matches up to its limit, then looks whether the limit cut any off.
  struct Part {
    Filter filter;
    Work tag_work = 0;  // work of matching one tag of an event
    uint64_t left = 0;  // matches left until its limit
    bool done = false;
    std::unique_ptr<IndexScan> scan;
  };
  // An event to which the entries of this part's scan lead.
  struct Found {
    Candidate candidate;
    uint32_t part = 0;
  };

  Status ReadMoment();
  void OpenSnapshot();
  void StartScans();
  Result<Progress> Walk(const Slice& slice, const OnMatch& on_match);
  bool Finished();
  uint64_t Wanted() const;
  Result<bool> Collect();
  Status SettlePlace();
  Status SortById(std::vector<Found>* place);
  size_t AffordableRecords(const Slice& slice) const;
  Status Fetch(const Slice& slice);
  void LetGoOfBlocks();
  bool Judge(const OnMatch& on_match);
  void HandOut(EventView event, size_t end, const OnMatch& on_match);
  size_t EndOfEvent(size_t first) const;
  bool WasJudged(EventView event) const;
  bool IsWanted(EventView event) const;

  const Database& database_;
  const QueryOptions options_;
  std::optional<Snapshot> snapshot_;  // null while suspended
  rocksdb::ReadOptions read_options_;
  std::vector<Part> parts_;
  Moment moment_;
  bool complete_ = true;
  Budget budget_;
  Work work_ = 0;
  uint64_t looks_since_ = 0;  // visits when the last limit was reached

  // The last event that was judged. After Suspend the query goes on from here.
  bool has_judged_ = false;
  uint64_t judged_at_ = 0;
  EventId judged_id_{};

  // Entries of one place in the order; more of them may follow.
  std::vector<Found> place_;
  // Entries in the order of the answer; parts that found the same event stand one after the other.
  std::vector<Found> found_;
  size_t places_ = 0;  // places in found_
  size_t next_found_ = 0;
  size_t matched_ = 0;  // parts that the next event was matched with so far
  // The records of the next events of found_, one for each event; empty between slices.
  RecordLookup records_;
  size_t next_record_ = 0;
  size_t at_once_;             // records that were fetched last
  uint64_t record_bytes_ = 0;  // the mean of those that were fetched last
  uint64_t bytes_ = 0;         // handed out in this slice
  Status failed_;              // error of the constructor
};

}  // namespace weir
