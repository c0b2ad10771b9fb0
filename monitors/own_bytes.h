// OwnBytes: memory of the program that grows with its load (queues, pinned iterators, output buffers), as the program
// reports it, against a budget.
//
// Bytes of work that waits for its turn are counted apart. They are memory, but no limit is judged by them
// (Signal::waiting): five imports that waited held 11.6 of 13.1 MB, and for these bytes bulk work was held to 16 kB/s
// with the engine idle, for good. They have a bound of their own where the work is taken in.
//
// Threads: any. A report is one relaxed atomic addition, or two for kWaiting.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>

#include "monitors/load_sample.h"
#include "monitors/memory_target.h"

namespace weir {

enum class OwnUse : uint8_t {
  kHeld,
  kWaiting,  // held by work that was taken in and is not let through or not done yet
};

// Reports bytes that a part of the program takes or, below 0, gives back.
using CountOwnBytes = std::function<void(int64_t bytes, OwnUse use)>;

class OwnBytes {
 public:
  // `budget_mb` 0: an eighth of the memory target.
  OwnBytes(uint64_t budget_mb, uint64_t target_bytes)
      : budget_bytes_(std::max<uint64_t>(1, budget_mb > 0 ? budget_mb << 20 : target_bytes / 8)) {}

  // Add bytes when they are taken, and the same number below 0 when they are given back.
  void Add(int64_t bytes, OwnUse use = OwnUse::kHeld) {
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
    if (use == OwnUse::kWaiting) waiting_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  uint64_t bytes() const { return Counted(bytes_); }
  uint64_t waiting_bytes() const { return Counted(waiting_bytes_); }  // a part of bytes()
  uint64_t budget_bytes() const { return budget_bytes_; }

  // Returns the signal `own`. Admitted bytes show at the next sample.
  Signal Level(Duration sample_interval) const {
    const auto budget = static_cast<double>(budget_bytes_);
    return {.name = "own",
            .level = static_cast<double>(bytes()) / budget,
            .waiting = static_cast<double>(waiting_bytes()) / budget,
            .least_setpoint = kLeastMemorySetpoint,
            .bytes_per_level = budget,
            .dead_time = 2 * sample_interval,
            .acts_on_reads = true,
            .acts_on_cheap_reads = true};
  }

 private:
  static uint64_t Counted(const std::atomic<int64_t>& bytes) {
    return static_cast<uint64_t>(std::max<int64_t>(0, bytes.load(std::memory_order_relaxed)));
  }

  const uint64_t budget_bytes_;
  std::atomic<int64_t> bytes_{0};
  std::atomic<int64_t> waiting_bytes_{0};
};

}  // namespace weir
