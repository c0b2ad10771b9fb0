// SearchQuery: the Query (event_store.h) of the store on RocksDB for filters of which at least one has a search
// (NIP-50). ranking_query.h says what it finds; word_walk.h finds the events that have all words. If a filter has ids
// or tags, the records are read during the walk, so that the best hits are events that match.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "relay/store/database.h"
#include "relay/store/query.h"
#include "relay/store/record_lookup.h"
#include "relay/store/search/ranking_query.h"
#include "relay/store/search/word_walk.h"

namespace weir {

class SearchQuery final : public RankingQuery<WordHit, WordWalk> {
 public:
  // `database` must outlive the query.
  SearchQuery(const Database& database, const std::vector<Filter>& filters, const QueryOptions& options);
  ~SearchQuery() override;

  const Moment& moment() const override { return rest_.moment(); }
  void Suspend() override;
  uint64_t held_bytes() const override { return sizeof(*this) + PartBytes(); }

 private:
  Query& rest() override { return rest_; }
  const Query& rest() const override { return rest_; }
  Result<Progress> AnswerSlice(const OnMatch& on_match) override;
  Result<bool> Walk(Part* part) override;
  Status HandOut(Part* part, const OnMatch& on_match) override;
  Result<bool> MayMatch(const Part& part);
  void OpenSnapshot();

  const Database& database_;
  std::optional<Snapshot> snapshot_;  // null while suspended
  rocksdb::ReadOptions read_options_;
  rocksdb::ReadOptions walk_options_;  // the same for the walks
  StoreQuery rest_;                    // the other filters; it also has the moment
  RecordLookup records_;
};

}  // namespace weir
