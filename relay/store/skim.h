// Skim: tells whether the newest events of many authors are found sooner among those of everybody than by seeking each
// author.
//
// A seek for each of a hundred authors and each of their kinds takes as long as passing ten thousand entries. If these
// authors write a good part of all events, a few hundred entries have the answer. It is not known beforehand how much
// they write. So the scan skims for an eighth of what the seeks would cost, and then for as long as the whole answer,
// found at the rate so far, costs less than the seeks.
#pragma once

#include <cstdint>

#include "relay/account/work.h"
#include "relay/store/planner.h"

namespace weir {

class Skim {
 public:
  // Skims for `wanted` entries, instead of using this plan of authors.
  Skim(const Plan& authors, uint64_t wanted) : wanted_(wanted) {
    const uint64_t seeks = authors.ranges.size() + kKindsOfAnAuthor * authors.kind_ranges.size();
    if (seeks >= kManySeeks && wanted <= kMostWanted) instead_ = seeks * kSeekWithEntries + wanted * kVisitWork;
  }

  void Pass(bool found) {
    spent_ += kVisitWork;
    if (found) ++found_;
  }
  bool Pays() const { return 8 * spent_ < instead_ || spent_ * wanted_ < found_ * instead_; }

 private:
  static constexpr uint64_t kKindsOfAnAuthor = 6;
  static constexpr Work kSeekWithEntries = 3 * kSeekWork;  // 12 µs were measured in a tree of three levels
  static constexpr uint64_t kManySeeks = 16;
  static constexpr uint64_t kMostWanted = 10'000;  // queries that want more use seeks

  uint64_t wanted_ = 0;
  Work instead_ = 0;
  Work spent_ = 0;
  uint64_t found_ = 0;
};

}  // namespace weir
