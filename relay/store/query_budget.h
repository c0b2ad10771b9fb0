// Budget: the work that a query may still do in its present slice (Query::Next).
#pragma once

#include <algorithm>
#include <cstdint>

#include "relay/account/work.h"

namespace weir {

struct Budget {
  int64_t work = 0;     // may become negative, because a step is not stopped halfway
  uint64_t visits = 0;  // seeks, index entries and records of the query, in this slice and all before

  bool used_up() const { return work <= 0; }
  // Returns the work that is left; 0 if more was spent than allowed.
  Work left() const { return static_cast<Work>(std::max<int64_t>(work, 0)); }
  void Spend(Work spent) { work -= static_cast<int64_t>(spent); }
  // Counts one visit and spends its work.
  void Visit(Work cost) {
    Spend(cost);
    ++visits;
  }
};

}  // namespace weir
