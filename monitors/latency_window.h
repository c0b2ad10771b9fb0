// LatencyWindow: keeps the last latencies of one kind of operation, 512 by default.
//
// Threads: any thread may call any function. Record is two relaxed atomic operations and never waits. Summary and Mean
// read every latency, which takes microseconds, so do not call them for each operation. While other threads record,
// Summary and Mean may see the old or the new value of a latency, but never a mixture.
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

  // Adds a latency in place of the oldest. A negative latency (a clock that went back) counts as 0.
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

  // Returns the figures of the latencies in the window; all are 0 before the first Record.
  Figures Summary() const;
  // Returns Figures::mean, at less cost than Summary.
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
