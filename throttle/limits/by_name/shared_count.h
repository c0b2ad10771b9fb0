// SharedCount: a counter that only one thread at a time may change, and that any thread may read at any time.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir {

class SharedCount {
 public:
  void Add(uint64_t more) { value_.store(value() + more, std::memory_order_relaxed); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

}  // namespace weir
