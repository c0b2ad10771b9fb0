#include "bench/measure/jain_index.h"

#include <limits>

namespace weir {

double JainIndex(const std::vector<double>& shares) {
  double sum = 0;
  double squares = 0;
  for (const double share : shares) {
    sum += share;
    squares += share * share;
  }
  return squares > 0 ? sum * sum / (static_cast<double>(shares.size()) * squares)
                     : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace weir
