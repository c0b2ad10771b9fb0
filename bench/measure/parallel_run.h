// Measures how often the threads of this process can do some work, and what it costs.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "bench/measure/results.h"
#include "config/clock.h"

namespace weir {

struct ParallelRun {
  uint64_t count = 0;  // how often all threads did the work
  double seconds = 0;
  double cpu_seconds = 0;  // the whole process used this

  // Returns the rate, and the CPU time of each piece of work.
  LoadFigures Figures() const;
};

// Calls `work` once on each of `threads` threads, all at the same moment, and sets `stop` after `time`. `work` does its
// work until then, and returns how often. `thread` is a number from 0.
ParallelRun RunInParallel(int threads, Duration time,
                          const std::function<uint64_t(size_t thread, const std::atomic<bool>& stop)>& work);

// Returns "1 thread", "2 threads", ….
std::string ThreadsInWords(int threads);

}  // namespace weir
