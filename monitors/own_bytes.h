// OwnBytes: memory of the program that grows with its load (queues, pinned iterators, output buffers), as the program
// reports it, against a budget.
//
// Threads: any. To report is one relaxed atomic addition.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "monitors/load_sample.h"

namespace weir {

class OwnBytes {
 public:
  // `budget_mb` 0: an eighth of the memory target.
  OwnBytes(uint64_t budget_mb, uint64_t target_bytes)
      : budget_bytes_(std::max<uint64_t>(1, budget_mb > 0 ? budget_mb << 20 : target_bytes / 8)) {}

  // Added when taken, taken off when given back.
  void Add(int64_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  uint64_t bytes() const { return static_cast<uint64_t>(std::max<int64_t>(0, bytes_.load(std::memory_order_relaxed))); }
  uint64_t budget_bytes() const { return budget_bytes_; }

  // The signal `own`. What was admitted shows at the next sample.
  Signal Level(Duration sample_interval) const {
    const auto budget = static_cast<double>(budget_bytes_);
    return {.name = "own",
            .level = static_cast<double>(bytes()) / budget,
            .bytes_per_level = budget,
            .dead_time = 2 * sample_interval,
            .acts_on_reads = true,
            .acts_on_cheap_reads = true};
  }

 private:
  const uint64_t budget_bytes_;
  std::atomic<int64_t> bytes_{0};
};

}  // namespace weir
