// IdQuery: the Query (event_store.h) of the store on RocksDB for a caller that needs only the ids and dates of all
// events that match one filter (IdsOnly). A record takes 4 µs to read; an entry of the index takes 0.3 µs.
//
// First it scans the index for the filter (index_scan.h). If the filter names neither authors nor tags, nearly all
// entries decide by themselves that their event matches and may be seen: they have the time and the kind, and the
// expired events are known from the entries x. Of these events it notes the serials. Of all others it reads the
// records, because the index has only the beginnings of authors' keys and of the hashes of tags. The entries a, t, k
// and c have only four bytes of the id, so it then passes through all entries i, which have ids, dates and serials, and
// takes those with a serial that it has noted. If the serials are few, it reads the records of these events, too.
//
// Between slices and while the query is suspended it keeps the serials; suspended, it frees the snapshot.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relay/store/database.h"
#include "relay/store/index_scan.h"
#include "relay/store/matching_query.h"
#include "relay/store/record_lookup.h"
#include "relay/store/serial_set.h"

namespace weir {

class IdQuery final : public MatchingQuery<IndexScan> {
 public:
  // Returns true if an IdQuery can answer these filters.
  static bool CanAnswer(const std::vector<Filter>& filters, const QueryOptions& options) {
    return options.ids_only && filters.size() == 1 && !filters[0].limit && !filters[0].search && !options.after;
  }

  // REQUIRES: CanAnswer(filters, options). `database` must outlive the query. Next returns the error if the constructor
  // could not read the database.
  IdQuery(const Database& database, std::vector<Filter> filters, const QueryOptions& options);
  ~IdQuery() override { parts_.clear(); }  // frees the scan before the options and the snapshot that it uses

  Result<Progress> Next(const Slice& slice, const OnMatch& on_match) override;
  void Suspend() override;
  uint64_t held_bytes() const override;

 private:
  enum class Phase : uint8_t { kExpired, kScan, kIds, kDone };
  struct Finder {
    uint32_t part = 0;
  };
  using Visit = std::function<bool(std::string_view key, std::string_view value)>;

  Part& part() { return parts_.front(); }
  size_t most_unknown() const { return options_.ids_only->most_waiting; }
  void OpenSnapshot();
  Status Step(const OnMatch& on_match);
  Result<bool> PassEntries(char first, const Visit& visit);
  Status FindExpired();
  Status Scan();
  Sight Judge(const IndexEntry& entry) const;
  void Take(const Candidate& candidate);
  bool IsNew(const Candidate& candidate);
  bool EndIfTooMany();
  void EndScan();
  void BeginRecords();
  Status ReadRecords(const OnMatch& on_match);
  Status ReadIds(const OnMatch& on_match);
  void Pass(const void* id, uint64_t created_at, const OnMatch& on_match);

  const Database& database_;
  std::optional<Snapshot> snapshot_;  // null while suspended
  rocksdb::ReadOptions read_options_;
  Phase phase_ = Phase::kExpired;
  std::string place_;                 // the key from which kExpired or kIds goes on; empty: its beginning
  std::vector<uint64_t> expired_;     // the serials of all expired events, sorted
  bool decides_ = false;              // an entry tells whether its event matches
  std::optional<Candidate> scanned_;  // the last one of the scan
  std::vector<uint64_t> at_place_;    // the serials of the scan at the place of scanned_
  std::vector<uint64_t> unknown_;     // the serials of events whose records must be read
  bool reads_records_ = false;        // unknown_ is sorted, the first last, and nothing is added until it is empty
  uint64_t record_bytes_;             // the mean size of the records that were read last
  RecordLookup records_;
  std::optional<SerialSet> shown_;  // the events that the index has decided
  std::vector<uint64_t> few_;       // holds the serials of shown_ if they are so few that records are read
  std::string head_;                // the record of the event that is passed
  Status failed_;                   // the error of the constructor
};

}  // namespace weir
