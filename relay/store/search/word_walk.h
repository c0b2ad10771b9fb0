// WordWalk: finds the events whose content has all of some words, newest first, and rates them
// (relay/search/search_score.h).
//
// First it counts the events of each word, up to kMostCountedEvents: a word that few events have weighs more. Then it
// walks through the entries of the rarest word, and seeks the same event among those of the other words. So it passes
// about as many entries as the rarest word has, and reads no records.
//
// A walk works in slices: if the Budget of a call of Next is used up, the next call continues. Between two calls the
// caller may free the iterators (LetGo).
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <vector>

#include "relay/store/database.h"
#include "relay/store/query_budget.h"

namespace weir {

// An event that has all words.
struct WordHit {
  uint32_t score = 0;
  uint64_t inverted_time = 0;
  uint64_t serial = 0;

  // Returns true if this event comes before `other` in an answer: by score, then by time, the newest first.
  bool operator<(const WordHit& other) const {
    if (score != other.score) return score > other.score;
    if (inverted_time != other.inverted_time) return inverted_time < other.inverted_time;
    return serial < other.serial;
  }
};

class WordWalk {
 public:
  enum class Step : uint8_t { kFound, kLater, kEnd };

  // Finds events with a created_at from `since` to `until`. `words` are those of a search (search_text.h). `options`
  // has the snapshot and prefix_same_as_start; the caller may exchange the snapshot after LetGo. `database` and
  // `options` must outlive the walk.
  WordWalk(const Database& database, const rocksdb::ReadOptions& options, const std::vector<uint64_t>& words,
           uint64_t since, uint64_t until);

  // Moves to the next event. Returns kLater if the budget was used up first.
  Result<Step> Next(Budget* budget);
  // Return the event at which the walk is; valid after kFound.
  const SearchEntry& entry() const { return words_.front().entry; }
  WordHit hit() const;

  // Frees the iterators, so that the walk pins no blocks of the database.
  void LetGo();
  uint64_t held_bytes() const { return words_.capacity() * sizeof(Word); }

 private:
  // A place among the entries of any word.
  struct Place {
    uint64_t inverted_time = 0;
    uint64_t serial = 0;
    auto operator<=>(const Place&) const = default;
  };
  struct Word {
    uint64_t word = 0;
    uint32_t weight = 0;
    SearchEntry entry;                      // the entry at which the iterator is
    std::unique_ptr<rocksdb::Iterator> at;  // null if it has to seek

    Place place() const { return {entry.inverted_time, entry.serial}; }
  };

  Result<bool> Count(Budget* budget);
  Result<bool> Advance(Word* word, const Place& least, Budget* budget);
  Result<Step> Agree(Budget* budget);
  rocksdb::Iterator* IteratorOf(Word* word);
  // Reads the entry at the iterator, and passes over damaged ones. Returns false at the end of the word.
  static bool Read(Word* word, Budget* budget);

  const Database& database_;
  const rocksdb::ReadOptions& options_;
  const uint64_t oldest_;    // inverted, inclusive
  std::vector<Word> words_;  // the rarest first, once they are counted
  size_t counted_ = 0;       // number of words that are counted
  std::vector<uint32_t> counts_;
  Place position_;  // the next event is here or behind
};

}  // namespace weir
