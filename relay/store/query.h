// StoreQuery: the Query (event_store.h) of the store on RocksDB. It merges the scans of several filters (index_scan.h),
// reads the records of many events together (record_lookup.h), matches them with the filters, and passes each event to
// the caller once.
//
// Between slices the query keeps the positions of its scans and the snapshot. While it is suspended, it keeps only the
// position of the last event that it has matched, and later continues behind it.
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
  // `database` must outlive the query. Next returns the error if the constructor could not read the database.
  StoreQuery(const Database& database, std::vector<Filter> filters, const QueryOptions& options);

  Result<Progress> Next(const Slice& slice, const OnMatch& on_match) override;
  const Moment& moment() const override { return moment_; }
  bool complete() const override { return complete_; }
  uint64_t visits() const override { return budget_.visits; }
  Work work() const override { return work_; }
  void Suspend() override;
  uint64_t held_bytes() const override;

 private:
  // One of the filters. It collects matches up to its limit and then looks whether there is another match.
  struct Part {
    Filter filter;
    Work tag_work = 0;                // work of matching one tag of an event (TagWorkOf)
    uint64_t left = 0;                // matches left until the limit
    bool done = false;                // the filter needs no more entries
    std::unique_ptr<IndexScan> scan;  // null if `done`, and while the query is suspended
  };
  // An event that the scan of a part has found.
  struct Found {
    Candidate candidate;
    uint32_t part = 0;  // index in parts_; kNoPart if the event does not match the part's filter
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
  uint64_t looks_since_ = 0;  // the number of visits when the last part reached its limit

  // The last event that was matched, or QueryOptions::after. After Suspend the query continues behind it.
  bool has_judged_ = false;
  uint64_t judged_at_ = 0;
  EventId judged_id_{};

  // Entries of one place (Candidate::SamePlace); the scans may still find more at this place.
  std::vector<Found> place_;
  // Entries in the order of the answer. If several parts have found the same event, their entries follow each other.
  std::vector<Found> found_;
  size_t places_ = 0;      // number of events in found_
  size_t next_found_ = 0;  // index in found_ of the next event
  size_t matched_ = 0;     // number of parts that the next event was matched with so far
  // The records of the next events of found_, one for each event; empty between slices.
  RecordLookup records_;
  size_t next_record_ = 0;
  size_t at_once_;             // number of records that were read together last
  uint64_t record_bytes_ = 0;  // the mean size of the records that were read last
  uint64_t bytes_ = 0;         // bytes of JSON that were passed to the caller in this slice
  Status failed_;              // the error of the constructor
};

}  // namespace weir
