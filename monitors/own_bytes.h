// OwnBytes: counts memory of the program that grows with its load (queues, pinned iterators, output buffers), as the
// program reports it, and compares it with a budget.
//
// The bytes that waiting work holds are also counted separately. They count as memory, but limits do not depend on them
// (Signal::waiting in load_sample.h): when limits did depend on them, five waiting imports held 11.6 MB of a budget of
// 13.1 MB, and bulk work was limited to 16 kB/s for good, although the engine was idle. Instead, the code that accepts
// such work limits the bytes that it holds.
//
// Threads: any thread may call any function. A report is one relaxed atomic addition, or two for kWaiting.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>

#include "monitors/load_sample.h"
#include "monitors/memory_target.h"

namespace weir {

enum class OwnUse : uint8_t {
  kHeld,     // memory that does not belong to waiting work
  kWaiting,  // memory of work that the program has accepted, but that is not admitted or not done yet
};

// A function by which a part of the program reports bytes that it has allocated, or freed (with a minus).
using CountOwnBytes = std::function<void(int64_t bytes, OwnUse use)>;

class OwnBytes {
 public:
  // The budget is `budget_mb` MiB, or an eighth of the memory target if `budget_mb` is 0.
  OwnBytes(uint64_t budget_mb, uint64_t target_bytes)
      : budget_bytes_(std::max<uint64_t>(1, budget_mb > 0 ? budget_mb << 20 : target_bytes / 8)) {}

  // Adds `bytes`. The caller adds bytes when it allocates them, and subtracts them (a number below 0, with the same
  // `use`) when it frees them.
  void Add(int64_t bytes, OwnUse use = OwnUse::kHeld) {
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
    if (use == OwnUse::kWaiting) waiting_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  uint64_t bytes() const { return Counted(bytes_); }
  uint64_t waiting_bytes() const { return Counted(waiting_bytes_); }  // a part of bytes()
  uint64_t budget_bytes() const { return budget_bytes_; }

  // Returns the signal `own`, whose level is bytes() / budget_bytes().
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
