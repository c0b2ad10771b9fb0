// PostgresSearchQuery: the Query (event_store.h) of the store on PostgreSQL for filters of which at least one has a
// search (NIP-50). search/ranking_query.h says what it finds: the same as on RocksDB, with the same scores. Events of
// the same score and age come in the order of their ids.
//
// For a search it first counts the events of each word, up to kMostCountedEvents, in the span of time
// (postgres_words.h) of the newest event and the one before it: in short ones, and as long as these have too few, in
// the next longer ones. So a word that everybody uses costs no more than a rare one. Then it walks through spans, the
// newest first, with a statement for each. They get longer while they have few matches, but not longer than the spans
// in which the rarest word was counted. So a statement looks at some thousand words at most, unless a word was far more
// common in the past than it is now.
//
// Events have no words until a build has read them (postgres_word_build.h) if a relay that does not search has saved
// them. A query for all matches, which is that of a COUNT, reads the records of such events itself, and leaves out what
// the index has of them meanwhile. If that costs more than kMostWordless, as in the first build, the answer lacks them
// and is not complete.
//
// Like PostgresQuery, it holds no connection between slices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "relay/store/postgres/postgres_query.h"
#include "relay/store/postgres/postgres_words.h"
#include "relay/store/search/ranking_query.h"

namespace weir {

// The most work of reading events that have no words yet, for a COUNT. That is half a second of a worker, and 40,000
// notes of 400 bytes: more than a relay saves in the minute between two builds.
inline constexpr Work kMostWordless = 500 * kTurnWork;

// Events of an origin that may have no words: those with a serial above `after`, up to `until`.
struct WordlessEvents {
  uint32_t origin = 0;
  uint64_t after = 0;
  uint64_t until = 0;

  bool Has(Serial serial) const { return serial.origin == origin && serial.number > after && serial.number <= until; }
};

// An event that has all words.
struct PostgresHit {
  uint32_t score = 0;
  EventPlace place;

  bool operator<(const PostgresHit& other) const {
    return score != other.score ? score > other.score : place < other.place;
  }
};

// The state of looking for the hits of a search.
struct SpanWalk {
  size_t wordless = 0;           // index of the range of wordless events that is read; these come first
  uint64_t passed = 0;           // the last serial of that range that was read
  std::vector<uint32_t> counts;  // the events of each word, in the span that was counted last
  bool is_counted = false;       // all words are counted
  int level = 0;                 // the level of the next span
  int longest = 0;               // the longest span that the walk takes
  int64_t until = 0;             // the time of the next event, once the words are counted
  std::string after;             // the id behind which events of that time follow; empty: all of them

  uint64_t held_bytes() const { return sizeof(*this) + counts.capacity() * sizeof(uint32_t); }
};

class PostgresSearchQuery final : public RankingQuery<PostgresHit, SpanWalk> {
 public:
  // `searched` is null if the relay does not search; then a search finds no event. `sessions` and `searched` must
  // outlive the query.
  PostgresSearchQuery(SessionPool& sessions, Duration patience, const SearchedEvents* searched,
                      const std::vector<Filter>& filters, const QueryOptions& options);

  const Moment& moment() const override { return rest_.moment(); }
  void Suspend() override;
  uint64_t held_bytes() const override { return sizeof(*this) + PartBytes(); }

 private:
  Query& rest() override { return rest_; }
  const Query& rest() const override { return rest_; }
  Result<Progress> AnswerSlice(const OnMatch& on_match) override;
  Result<bool> Walk(Part* part) override;
  Status HandOut(Part* part, const OnMatch& on_match) override;
  Status Begin();
  void NoteWordless(const PostgresRows& origins, size_t row);
  Status WalkOn(Part* part);
  Status ReadWordless(Part* part);
  bool IsWordless(Serial serial) const;
  PostgresArray KindsOf(const Filter& filter) const;
  Status CountWords(Part* part);
  Status WalkSpan(Part* part);
  void TakeHits(Part* part, const PostgresRows& rows);
  // Runs what is queued.
  Result<std::vector<PostgresRows>> Run() { return session_->Run(patience_); }

  SessionPool& sessions_;
  const Duration patience_;
  const SearchedEvents* const searched_;
  PostgresQuery rest_;                    // the other filters; it also has the moment
  std::vector<WordlessEvents> wordless_;  // empty if hits are ranked
  bool has_begun_ = false;
  uint64_t newest_ = 0;                 // the created_at of the newest event, up to now
  PostgresSession* session_ = nullptr;  // during a slice
};

}  // namespace weir
