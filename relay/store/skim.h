// Whether many authors' newest events are found sooner among those of everybody than by seeking each author.
//
// A seek for each of a hundred authors and each of their kinds takes as long as ten thousand entries passed; where they
// write a good part of what there is, a few hundred entries have the answer. How much they write nobody knows
// beforehand. So it looks for an eighth of what the seeks would cost, and then for as long as the whole answer, found
// at the rate so far, costs less than they.
#pragma once

#include <cstdint>

#include "relay/account/work.h"
#include "relay/store/planner.h"

namespace weir {

class Skim {
 public:
  // Instead of this plan of authors, for so many entries.
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
  static constexpr uint64_t kMostWanted = 10'000;  // whoever wants all of them seeks

  uint64_t wanted_ = 0;
  Work instead_ = 0;
  Work spent_ = 0;
  uint64_t found_ = 0;
};

}  // namespace weir
