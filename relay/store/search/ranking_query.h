// RankingQuery: the part of a Query (event_store.h) with searches (NIP-50) that is the same in both stores. It answers
// the filters with a search one after the other, each with its best matches first, and then the other filters together,
// newest first. It hands out no event twice.
//
// A part of a query is a filter with a search. The query of a store (search_query.h, postgres/postgres_search_query.h)
// derives from this class. For each part it looks for hits (Walk), which are events that have all words, and reads
// their records, the best first (HandOut). It keeps the best kKept hits among the newest ones that kMostWalk allows to
// look at: a word that everybody uses would cost too much otherwise. So the answer is complete only if nothing was cut
// off.
//
// If all events are asked for (kAllEvents), as for a COUNT, nothing is ranked and nothing is cut off: the hits are
// handed out as they are found. Then an event that several filters match is recognised by matching it with the filters
// before, because the ids of all events would take too much memory; so filters with a search have to name only kinds
// that are searched.
//
// QueryOptions::after has no meaning for a search. While the index is being built, the answers lack the events that are
// not in it yet, and are not complete.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "relay/nostr/content.h"
#include "relay/nostr/expiration.h"
#include "relay/search/search_text.h"
#include "relay/store/event_store.h"
#include "relay/store/matching_work.h"
#include "relay/store/query_budget.h"

namespace weir {

// Bounds of a search whose matches are ranked.
inline constexpr uint64_t kMostFound = 500;        // the most events of one search, whatever its limit
inline constexpr size_t kKept = 2 * kMostFound;    // the hits of a search that are kept
inline constexpr Work kMostWalk = 40 * kTurnWork;  // the work of looking for the hits of one search

// Returns the filters without a search, or with one.
inline std::vector<Filter> WithSearch(const std::vector<Filter>& filters, bool with) {
  std::vector<Filter> some;
  for (const Filter& filter : filters)
    if (filter.search.has_value() == with) some.push_back(filter);
  return some;
}

// `Hit` is an event that has all words; the better one is the lesser. `WalkState` is the state of looking for hits.
template <typename Hit, typename WalkState>
class RankingQuery : public Query {
 public:
  Result<Progress> Next(const Slice& slice, const OnMatch& on_match) final {
    const auto most = static_cast<int64_t>(std::clamp<Work>(slice.max_work, 1, INT64_MAX));
    budget_.work = most;
    bytes_left_ = slice.max_bytes;
    Result<Progress> answered = AnswerSlice(on_match);
    done_ += static_cast<Work>(most - budget_.work);
    if (!answered.ok() || answered.value() == Progress::kMore) return answered;
    const Slice left{.max_work = std::max<Work>(budget_.left(), 1),
                     .max_bytes = static_cast<uint32_t>(std::max<uint64_t>(bytes_left_, 1))};
    return rest().Next(left, [&](EventView event) {
      if (IsNew(event)) on_match(event);
    });
  }
  bool complete() const final { return complete_ && rest().complete(); }
  uint64_t visits() const final { return budget_.visits + rest().visits(); }
  Work work() const final { return done_ + rest().work(); }
  // Knows only the filters without a search, because nothing estimates what a search would find.
  std::optional<bool> WouldFind(EventView event, Work most) final { return rest().WouldFind(event, most); }

 protected:
  struct Part {
    Filter filter;
    std::vector<uint64_t> words;
    uint64_t left = 0;  // matches left until the limit
    Work walked = 0;
    std::unique_ptr<WalkState> walk;  // null once it has ended
    std::vector<Hit> hits;            // sorted once the walk has ended, if they are ranked
    size_t next = 0;                  // index of the next hit to hand out
  };

  RankingQuery(const std::vector<Filter>& filters, const QueryOptions& options)
      : options_(options), ranks_(options.max_limit < kAllEvents) {
    for (Filter& filter : WithSearch(filters, true)) {
      Part part;
      part.left = std::min(filter.limit.value_or(options.default_limit), options.max_limit);
      if (ranks_) part.left = std::min(part.left, kMostFound);
      if (!filter.MatchesNothing()) part.words = WordsOfSearch(*filter.search);
      part.filter = std::move(filter);
      parts_.push_back(std::move(part));
    }
  }

  // The query of the filters without a search.
  virtual Query& rest() = 0;
  virtual const Query& rest() const = 0;
  // Calls Answer with what it needs for a slice.
  virtual Result<Progress> AnswerSlice(const OnMatch& on_match) = 0;
  // Goes on looking for hits. Returns false if the slice is over first. Returns true at the end of the walk, which is
  // then null; and if hits are not ranked, also once it has some.
  virtual Result<bool> Walk(Part* part) = 0;
  // Hands out the next hits, and moves `next` on. It returns when some are handed out. Called while hits are left.
  virtual Status HandOut(Part* part, const OnMatch& on_match) = 0;

  // Answers the searches, until all are answered or the slice is over.
  Result<Progress> Answer(const OnMatch& on_match) {
    while (part_ < parts_.size()) {
      Part* const part = &parts_[part_];
      if (part->walk && (ranks_ || part->hits.empty())) {
        const Result<bool> walked = Walk(part);
        if (!walked.ok()) return walked.status();
        if (!walked.value()) return Progress::kMore;
      }
      while (part->next < part->hits.size() && part->left > 0) {
        if (is_over()) return Progress::kMore;
        if (Status handed_out = HandOut(part, on_match); !handed_out.ok()) return handed_out;
      }
      if (part->next < part->hits.size()) complete_ = false;
      part->next = 0;
      part->hits.clear();
      if (part->walk) continue;
      part->hits.shrink_to_fit();
      ++part_;
    }
    return Progress::kDone;
  }

  // Ends the walk of a ranked search if it has cost enough. Otherwise keeps the best hits.
  void NoteWalked(Part* part, Work work) {
    part->walked += work;
    if (!ranks_) return;
    if (part->hits.size() >= 2 * kKept) KeepBest(part);
    if (part->walked < kMostWalk || !part->walk) return;
    complete_ = false;
    part->walk.reset();
  }

  // Sorts the hits, and drops those behind the best kKept.
  void KeepBest(Part* part) {
    if (!ranks_ || part->next > 0) return;
    std::sort(part->hits.begin(), part->hits.end());
    if (part->hits.size() <= kKept) return;
    part->hits.resize(kKept);
    complete_ = false;
  }

  // Hands the event of a hit out, if it is wanted.
  void Give(Part* part, EventView event, const OnMatch& on_match) {
    budget_.Spend(MatchingWork(TagsOf(event), TagWorkOf(part->filter)));
    if (!part->filter.Matches(event) || IsExpired(event, options_.now_seconds)) return;
    if (options_.visible && !options_.visible(event)) return;
    --part->left;
    if (!IsNew(event)) return;
    if (ranks_) handed_out_.insert(event.id());
    bytes_left_ -= std::min<uint64_t>(bytes_left_, event.json().size());
    on_match(event);
  }

  bool is_over() const { return bytes_left_ == 0 || budget_.used_up(); }
  bool ranks() const { return ranks_; }

  uint64_t PartBytes() const {
    // A node of a set has four words beside its value.
    constexpr uint64_t kNodeBytes = sizeof(EventId) + 4 * sizeof(void*);
    uint64_t bytes = rest().held_bytes() + handed_out_.size() * kNodeBytes;
    for (const Part& part : parts_) {
      bytes += sizeof(Part) + part.hits.capacity() * sizeof(Hit) + part.words.capacity() * sizeof(uint64_t);
      if (part.walk) bytes += part.walk->held_bytes();
    }
    return bytes;
  }

  const QueryOptions options_;
  std::vector<Part> parts_;
  size_t part_ = 0;  // index of the part that is being answered
  bool complete_ = true;
  Budget budget_;

 private:
  // Returns false if an earlier part has handed the event out.
  bool IsNew(EventView event) {
    if (ranks_) return !handed_out_.contains(event.id());
    std::optional<SearchWords> content;
    for (size_t i = 0; i < part_; ++i) {
      const Part& part = parts_[i];
      budget_.Spend(MatchingWork(TagsOf(event), TagWorkOf(part.filter)));
      if (!part.filter.Matches(event)) continue;
      if (!content) {
        budget_.Spend(std::min(event.json().size(), kMostTextBytes) * kSplitByteWork);
        content = WordsOf(ContentOf(event));
      }
      if (!part.words.empty() && std::ranges::includes(content->words, part.words, {}, &WordCount::word)) return false;
    }
    return true;
  }

  const bool ranks_;
  std::set<EventId> handed_out_;
  Work done_ = 0;  // the work of the searches
  uint64_t bytes_left_ = 0;
};

}  // namespace weir
