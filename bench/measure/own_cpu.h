// Measures the CPU time that this program itself has used.
#pragma once

#include <ctime>

namespace weir {

// Returns the CPU time of all threads of this program so far.
inline double OwnCpuSeconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

}  // namespace weir
