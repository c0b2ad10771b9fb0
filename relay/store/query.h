// StoreQuery: the Query (event_store.h) of the store on RocksDB. It merges the scans of several filters (index_scan.h),
// reads the records of many events together (record_lookup.h), and matches them with the filters (matching_query.h).
//
// Between slices the query keeps the positions of its scans and the snapshot. While it is suspended, it keeps only the
// position of the last event that it has matched, and later continues behind it.
#pragma once

#include <optional>
#include <vector>

#include "relay/store/database.h"
#include "relay/store/index_scan.h"
#include "relay/store/matching_query.h"
#include "relay/store/record_lookup.h"

namespace weir {

class StoreQuery final : public MatchingQuery<IndexScan> {
 public:
  // `database` must outlive the query. Next returns the error if the constructor could not read the database.
  StoreQuery(const Database& database, std::vector<Filter> filters, const QueryOptions& options);
  ~StoreQuery() override { parts_.clear(); }  // frees the scans before the options and the snapshot that they use

  Result<Progress> Next(const Slice& slice, const OnMatch& on_match) override;
  void Suspend() override;
  uint64_t held_bytes() const override;

 private:
  // An event that the scan of a part has found.
  struct Found {
    Candidate candidate;
    uint32_t part = 0;  // index in parts_; kNoPart if the event does not match the part's filter
  };

  void OpenSnapshot();
  void StartScans();
  Result<Progress> Walk(const OnMatch& on_match);
  Result<bool> Collect();
  Status SettlePlace();
  Status SortById(std::vector<Found>* place);
  Status Fetch();
  void LetGoOfBlocks();
  bool Judge(const OnMatch& on_match);
  size_t EndOfEvent(size_t first) const;

  const Database& database_;
  std::optional<Snapshot> snapshot_;  // null while suspended
  rocksdb::ReadOptions read_options_;

  // Entries of one place (Candidate::SamePlace); the scans may still find more at this place.
  std::vector<Found> place_;
  // Entries in the order of the answer. If several parts have found the same event, their entries follow each other.
  std::vector<Found> found_;
  size_t places_ = 0;      // number of events in found_
  size_t next_found_ = 0;  // index in found_ of the next event
  // The records of the next events of found_, one for each event; empty between slices.
  RecordLookup records_;
  size_t next_record_ = 0;
  size_t at_once_;             // number of records that were read together last
  uint64_t record_bytes_ = 0;  // the mean size of the records that were read last
  Status failed_;              // the error of the constructor
};

}  // namespace weir
