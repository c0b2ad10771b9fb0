// KindCounts: counts the events of one kind by month, and those that the rule matches. The functions add kinds to a
// census. This part of a census does not depend on the store.
#pragma once

#include <cstdint>
#include <map>

#include "relay/store/census/census.h"

namespace weir {

// For each author that is shown, so many candidates are measured, by so many of their records.
inline constexpr size_t kCandidatesForRow = 4;
inline constexpr size_t kSampleOfAuthor = 32;

// How many events of a kind there are.
class KindCounts {
 public:
  KindCounts(uint16_t kind, const CensusOptions& options)
      : kind_(kind), now_seconds_(options.now_seconds), before_(RuleOf(kind, options)) {}
  KindCounts(const KindCounts&) = delete;
  KindCounts& operator=(const KindCounts&) = delete;

  void Add(uint64_t created_at) {
    // Two times of the same day are in the same month.
    if (created_at / kDaySeconds != day_) {
      day_ = created_at / kDaySeconds;
      month_ = &months_[MonthOf(created_at, now_seconds_)];
    }
    ++events_;
    ++*month_;
    matched_ += created_at < before_ ? 1 : 0;
  }
  void Add(Month month, uint64_t events, uint64_t matched) {
    events_ += events;
    months_[month] += events;
    matched_ += matched;
  }

  uint16_t kind() const { return kind_; }
  uint64_t events() const { return events_; }
  const std::map<Month, uint64_t>& months() const { return months_; }
  uint64_t matched() const { return matched_; }

  // Returns the moment before which the rule matches events of this kind; 0 if it matches none.
  static uint64_t RuleOf(uint16_t kind, const CensusOptions& options) {
    return options.rule && options.rule->kinds.Has(kind) ? options.rule->before : 0;
  }

 private:
  uint16_t kind_;
  uint64_t now_seconds_;
  uint64_t before_;
  uint64_t events_ = 0;
  uint64_t matched_ = 0;
  std::map<Month, uint64_t> months_;
  uint64_t day_ = UINT64_MAX;  // the day that *month_ has
  uint64_t* month_ = nullptr;
};

// Adds a kind to kinds, months, matched and all of the census. `sample` has the sizes of some of its events.
void AddKind(const KindCounts& counts, const Sample& sample, Census* census);
// Computes the price from all and disk, and sorts the kinds by it. Call it after the last kind.
void FinishKinds(Census* census);
// Sorts the authors, the largest first, and drops those behind the first `most`.
void KeepLargestAuthors(size_t most, Census* census);

}  // namespace weir
