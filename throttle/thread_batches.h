// ThreadBatches: adds up the operations of each thread until they are a batch. Then the caller asks the gate once for
// the whole batch (AdaptiveLimiter::MaybeThrottle).
//
// Threads: any thread may call any function. A thread writes only to its slot (thread_slot.h), so that threads do not
// wait for each other. Threads that share the last slot also share its batch.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "throttle/thread_slot.h"

namespace weir {

class ThreadBatches {
 public:
  // Adds an operation of `bytes` bytes to the calling thread's batch. If the batch now has `least` operations, or
  // `most_bytes` bytes, returns the sum of their bytes and begins a new batch; else returns nullopt.
  std::optional<uint64_t> Add(uint64_t bytes, uint64_t least, uint64_t most_bytes) {
    Batch& batch = batches_[ThreadSlot()];
    const uint64_t operations = batch.operations.fetch_add(1, std::memory_order_relaxed) + 1;
    const uint64_t sum = batch.bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (operations < least && sum < most_bytes) return std::nullopt;
    // Threads that share the last slot may take each other's bytes, but no byte is taken twice.
    batch.operations.store(0, std::memory_order_relaxed);
    return batch.bytes.exchange(0, std::memory_order_relaxed);
  }

 private:
  struct alignas(64) Batch {
    std::atomic<uint64_t> operations{0};
    std::atomic<uint64_t> bytes{0};
  };
  std::array<Batch, kThreadSlots> batches_;
};

}  // namespace weir
