// Measures the CPU time that this program itself, or one of its threads, has used.
#pragma once

#include <ctime>

#include "config/clock.h"

namespace weir {

inline Duration ProcessorTimeOf(clockid_t clock) {
  timespec used{};
  clock_gettime(clock, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

// Returns the CPU time of all threads of this program so far.
inline Duration OwnProcessorTime() { return ProcessorTimeOf(CLOCK_PROCESS_CPUTIME_ID); }
// Returns the CPU time of the calling thread so far.
inline Duration ThreadProcessorTime() { return ProcessorTimeOf(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace weir
