// SearchQuery: the Query (event_store.h) for filters of which at least one has a search (NIP-50). It answers the
// filters with a search one after the other, each with its best matches first, and then the other filters together,
// newest first (query.h). It hands out no event twice.
//
// For a search it takes the best kKept of the events that have all words (word_walk.h), among the newest ones that
// kMostWalk allows to look at: a word that everybody uses would cost too much otherwise. Then it reads their records,
// the best first, and hands out those that match the rest of the filter, up to the limit. If a filter has ids or tags,
// the records are read during the walk, so that the best ones match.
//
// QueryOptions::after has no meaning for a search. While the index is being built, the answers lack the events that are
// not in it yet, and are not complete.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "relay/store/database.h"
#include "relay/store/query.h"
#include "relay/store/record_lookup.h"
#include "relay/store/search/word_walk.h"

namespace weir {

class SearchQuery final : public Query {
 public:
  static constexpr uint64_t kMostFound = 500;        // the most events of one search, whatever its limit
  static constexpr size_t kKept = 2 * kMostFound;    // the hits of a search that are kept
  static constexpr Work kMostWalk = 40 * kTurnWork;  // the work of looking for the hits of one search

  // `database` must outlive the query.
  SearchQuery(const Database& database, std::vector<Filter> filters, const QueryOptions& options);
  ~SearchQuery() override;

  Result<Progress> Next(const Slice& slice, const OnMatch& on_match) override;
  const Moment& moment() const override { return rest_.moment(); }
  bool complete() const override { return complete_ && rest_.complete(); }
  uint64_t visits() const override { return budget_.visits + rest_.visits(); }
  Work work() const override { return done_ + rest_.work(); }
  // Knows only the filters without a search, because nothing counts what a search would find.
  std::optional<bool> WouldFind(EventView event, Work most) override { return rest_.WouldFind(event, most); }
  void Suspend() override;
  uint64_t held_bytes() const override;

 private:
  // A filter with a search.
  struct Part {
    Filter filter;
    std::vector<uint64_t> words;
    std::vector<uint32_t> by;  // the first bytes of the filter's authors, sorted
    uint64_t left = 0;         // matches left until the limit
    Work walked = 0;
    std::unique_ptr<WordWalk> walk;  // null once it has ended
    std::vector<WordHit> hits;       // sorted once the walk has ended
    size_t next = 0;                 // index of the next hit to hand out
  };

  Result<Progress> Answer(const OnMatch& on_match);
  Result<bool> Walk(Part* part, const OnMatch& on_match);
  Result<bool> MayMatch(const Part& part);
  void KeepBest(Part* part);
  Result<bool> HandOut(Part* part, const OnMatch& on_match);
  bool IsWanted(const Part& part, EventView event);
  void OpenSnapshot();
  bool is_over() const { return bytes_left_ == 0 || budget_.used_up(); }

  const Database& database_;
  const QueryOptions options_;
  std::optional<Snapshot> snapshot_;  // null while suspended
  rocksdb::ReadOptions read_options_;
  rocksdb::ReadOptions walk_options_;  // the same for the walks
  std::vector<Part> parts_;
  size_t part_ = 0;  // index of the part that is being answered
  StoreQuery rest_;  // the other filters; it also has the moment
  RecordLookup records_;
  std::set<EventId> handed_out_;
  bool complete_ = true;
  Budget budget_;
  Work done_ = 0;  // the work of the searches
  uint64_t bytes_left_ = 0;
};

}  // namespace weir
