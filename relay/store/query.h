// The answer to several filters, made slice by slice: each filter's scan merged with the others', records fetched
// together and matched, each event handed out once.
#pragma once

#include <memory>
#include <vector>

#include "relay/store/database.h"
#include "relay/store/event_store.h"
#include "relay/store/index_scan.h"

namespace weir {

class StoreQuery final : public Query {
 public:
  StoreQuery(const Database& database, std::vector<Filter> filters, const QueryOptions& options);

  Result<Progress> Next(const Slice& slice, const OnMatch& on_match) override;
  uint64_t last_serial() const override { return last_serial_; }
  bool complete() const override { return complete_; }
  uint64_t visits() const override { return visits_; }

 private:
  // A filter on its way: it collects matches up to its limit, then looks whether the limit cut any off.
  struct Part {
    Filter filter;
    uint64_t left = 0;  // matches until its limit
    bool done = false;
    std::unique_ptr<IndexScan> scan;
  };
  // An event that the entries of this part's scan lead to.
  struct Found {
    Candidate candidate;
    uint32_t part = 0;
  };

  Status ReadLastSerial();
  bool Finished();
  uint64_t Wanted() const;
  Result<bool> Collect(Budget* budget);
  Status SettlePlace();
  Status SortById(std::vector<Found>* place) const;
  Status Fetch(Budget* budget);
  void Judge(const OnMatch& on_match);
  bool IsWanted(EventView event) const;

  const Database& database_;
  const QueryOptions options_;
  const Snapshot snapshot_;
  const rocksdb::ReadOptions read_options_;
  std::vector<Part> parts_;
  uint64_t last_serial_ = 0;
  bool complete_ = true;
  uint64_t visits_ = 0;
  uint64_t looks_since_ = 0;  // visits when the last limit was reached

  // Of one place in the order, which may not be all of it yet.
  std::vector<Found> place_;
  // In the order of the answer, the parts that found the same event one after the other.
  std::vector<Found> found_;
  size_t places_ = 0;  // in found_
  size_t next_found_ = 0;
  // The records of found_, each event's once.
  std::vector<Key> keys_;
  std::vector<rocksdb::PinnableSlice> records_;
  std::vector<rocksdb::Status> statuses_;
  size_t next_record_ = 0;
  uint64_t bytes_ = 0;  // handed out in this slice
  Status failed_;       // in the beginning
};

}  // namespace weir
