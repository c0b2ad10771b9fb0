#include "relay/store/search/word_walk.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

// The number of entries that are passed one by one before a seek, which costs as much as 40 of them.
constexpr int kStepsBeforeSeek = 8;

}  // namespace

WordWalk::WordWalk(const Database& database, const rocksdb::ReadOptions& options, const std::vector<uint64_t>& words,
                   uint64_t since, uint64_t until)
    : database_(database), options_(options), oldest_(~since) {
  position_.inverted_time = ~until;
  for (const uint64_t word : words) {
    words_.emplace_back();
    words_.back().word = word;
  }
}

rocksdb::Iterator* WordWalk::IteratorOf(Word* word) {
  if (!word->at) word->at.reset(database_.db()->NewIterator(options_, database_.search_family()));
  return word->at.get();
}

bool WordWalk::Read(Word* word, Budget* budget) {
  const Key range = SearchRange(word->word);
  for (; word->at->Valid() && word->at->key().starts_with(ToSlice(range)); word->at->Next()) {
    budget->Visit(kVisitWork);
    if (ReadSearchEntry(ToView(word->at->key()), ToView(word->at->value()), &word->entry)) return true;
  }
  return false;
}

// Counts the events of all words. Returns false if the budget was used up first.
Result<bool> WordWalk::Count(Budget* budget) {
  for (; counted_ < words_.size(); ++counted_) {
    if (budget->used_up()) return false;
    Word* const word = &words_[counted_];
    budget->Visit(kSeekWork);
    IteratorOf(word)->Seek(ToSlice(SearchRange(word->word)));
    uint32_t count = 0;
    for (; count < kMostCountedEvents && Read(word, budget); ++count) word->at->Next();
    if (!word->at->status().ok()) return DatabaseError("cannot read the index of words", word->at->status());
    word->at.reset();
    word->weight = WeightOf(count);
    counts_.push_back(count);
    if (count == 0) break;
  }
  return true;
}

// Moves the iterator to the first entry of the word at or behind `least`. Returns false if there is none.
Result<bool> WordWalk::Advance(Word* word, const Place& least, Budget* budget) {
  bool found = word->at != nullptr;
  for (int step = 0; found && word->place() < least && step < kStepsBeforeSeek; ++step) {
    word->at->Next();
    found = Read(word, budget);
  }
  if (word->at == nullptr || (found && word->place() < least)) {
    budget->Visit(kReseekWork);
    const Key key = SearchRange(word->word).Number(least.inverted_time, 8).Serial(least.serial);
    IteratorOf(word)->Seek(ToSlice(key));
    found = Read(word, budget);
  }
  if (!word->at->status().ok()) return DatabaseError("cannot read the index of words", word->at->status());
  return found && word->entry.inverted_time <= oldest_;
}

Result<WordWalk::Step> WordWalk::Next(Budget* budget) {
  if (counted_ < words_.size()) {
    const Result<bool> counted = Count(budget);
    if (!counted.ok()) return counted.status();
    if (!counted.value()) return Step::kLater;
    if (counts_.back() == 0) return Step::kEnd;
    // The weight falls with the count; among words that are counted to the end, the count itself decides.
    std::vector<std::pair<uint32_t, size_t>> order;
    for (size_t i = 0; i < words_.size(); ++i) order.emplace_back(counts_[i], i);
    std::sort(order.begin(), order.end());
    std::vector<Word> sorted;
    for (const auto& [count, i] : order) sorted.push_back(std::move(words_[i]));
    words_ = std::move(sorted);
  }
  return Agree(budget);
}

// Brings all words to the same event. Each time that a word is behind, the position moves on, so that a call makes
// progress however small its budget is.
Result<WordWalk::Step> WordWalk::Agree(Budget* budget) {
  for (size_t agreed = 0; agreed < words_.size();) {
    Word& word = words_[agreed];
    const Result<bool> found = Advance(&word, position_, budget);
    if (!found.ok()) return found.status();
    if (!found.value()) return Step::kEnd;
    if (word.place() == position_ || agreed == 0) {
      position_ = word.place();
      ++agreed;
      continue;
    }
    position_ = word.place();
    agreed = 0;
    if (budget->used_up()) return Step::kLater;
  }
  // A place has one event, so the next one is behind it.
  ++position_.serial;
  return Step::kFound;
}

WordHit WordWalk::hit() const {
  WordHit hit{.inverted_time = entry().inverted_time, .serial = entry().serial};
  for (const Word& word : words_) hit.score += word.weight * FactorOf(word.entry.density);
  return hit;
}

void WordWalk::LetGo() {
  for (Word& word : words_) word.at.reset();
}

}  // namespace weir
