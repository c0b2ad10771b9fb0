// StartedThreads: the CPU time of the threads that a function starts, such as those of a throttle.
#pragma once

#include <functional>
#include <vector>

namespace weir {

class StartedThreads {
 public:
  // Calls `start`, and takes the threads that the process then has and did not have before. REQUIRES: no other thread
  // starts threads meanwhile, except RocksDB's background, which does not count.
  explicit StartedThreads(const std::function<void()>& start);

  // Returns the CPU time, in seconds, that those of the threads have used that still run.
  double CpuSeconds() const;

 private:
  std::vector<int> threads_;  // ids of the kernel
};

}  // namespace weir
