// Measures the CPU time that this program itself has used.
#pragma once

#include <ctime>

#include "config/clock.h"

namespace weir {

// Returns the CPU time of all threads of this program so far.
inline Duration OwnProcessorTime() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

}  // namespace weir
