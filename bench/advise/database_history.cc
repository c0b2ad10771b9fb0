#include "bench/advise/database_history.h"

#include <algorithm>
#include <utility>

namespace weir {

double FamilyHistory::stalled_seconds() const {
  double seconds = 0;
  for (const auto& limits : stalls)
    for (const StallTotal& total : limits) seconds += total.seconds;
  return seconds;
}

const FamilyHistory* DatabaseHistory::Busiest() const {
  const auto busier = [](const FamilyHistory& a, const FamilyHistory& b) {
    return std::pair(a.stalled_seconds(), a.flushed_bytes) < std::pair(b.stalled_seconds(), b.flushed_bytes);
  };
  const auto found = std::max_element(families.begin(), families.end(), busier);
  return found == families.end() ? nullptr : &*found;
}

}  // namespace weir
