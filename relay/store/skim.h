// Skim: decides how a scan (index_scan.h) finds the newest events of many authors. Skimming means reading the newest
// entries of all authors and passing over those of authors whom the filter does not name. Otherwise the scan seeks the
// entries of each author that the filter names.
//
// Seeking each of a hundred authors and each of their kinds takes as long as reading about ten thousand entries. If
// these authors write a good part of all events, the answer is among the newest few hundred entries, but the scan
// cannot know beforehand how much they write. So the scan skims until it has spent an eighth of what the seeks would
// cost. It then continues to skim as long as the whole answer, at the rate of matches so far, would cost less than the
// seeks.
#pragma once

#include <cstdint>

#include "relay/account/work.h"
#include "relay/store/planner.h"

namespace weir {

class Skim {
 public:
  // `authors` is the plan that seeks each author; `wanted` is the number of entries that the query needs.
  Skim(const Plan& authors, uint64_t wanted) : wanted_(wanted) {
    const uint64_t seeks = authors.ranges.size() + kKindsOfAnAuthor * authors.kind_ranges.size();
    if (seeks >= kManySeeks && wanted <= kMostWanted) instead_ = seeks * kReseekWork + wanted * kVisitWork;
  }

  // Counts an entry that the scan has read; `found` is true if its event may match the filter.
  void Pass(bool found) {
    spent_ += kVisitWork;
    if (found) ++found_;
  }
  // Returns true while the scan should skim; false from the beginning if there are few authors or `wanted` is large.
  bool Pays() const { return 8 * spent_ < instead_ || spent_ * wanted_ < found_ * instead_; }

 private:
  static constexpr uint64_t kKindsOfAnAuthor = 6;  // a guess
  static constexpr uint64_t kManySeeks = 16;       // with fewer seeks the scan does not skim
  static constexpr uint64_t kMostWanted = 10'000;  // if a query wants more entries, the scan does not skim

  uint64_t wanted_ = 0;
  Work instead_ = 0;    // work of the seeks and their entries; 0: the scan does not skim
  Work spent_ = 0;      // work of skimming so far
  uint64_t found_ = 0;  // number of entries read so far whose events may match
};

}  // namespace weir
