// The last few hundred latencies of one kind of operation.
//
// Threads: any function from any thread. Record is two relaxed atomic operations and never waits; the readers look at
// every slot, so they cost microseconds and belong on a tick, not on an operation's path. A reader that runs beside
// writers sees each slot whole, old or new.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "config/clock.h"

namespace weir {

class LatencyWindow {
 public:
  static constexpr size_t kDefaultSize = 512;

  // The size is rounded up to a power of two.
  explicit LatencyWindow(size_t size = kDefaultSize);

  // A negative latency (a clock that went back) counts as 0.
  void Record(Duration latency) {
    const size_t turn = next_.fetch_add(1, std::memory_order_relaxed);
    const int64_t ns = latency.count();
    slots_[turn & mask_].store(ns < 0 ? 0 : ns, std::memory_order_relaxed);
  }

  struct Figures {
    size_t count = 0;  // at most size()
    Duration mean{};
    Duration p50{};
    Duration p99{};
  };

  // All figures are 0 before the first Record; in a window that is not full only the recorded latencies count.
  Figures Summary() const;
  Duration Mean() const;
  size_t size() const { return slots_.size(); }

 private:
  static constexpr int64_t kEmpty = -1;

  const size_t mask_;
  std::vector<std::atomic<int64_t>> slots_;
  // On a cache line of its own: every Record writes it, while slots_ and mask_ are only read.
  alignas(64) std::atomic<size_t> next_{0};
};

}  // namespace weir
