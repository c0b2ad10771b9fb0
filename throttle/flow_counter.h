// Operations and bytes that passed, counted by any number of threads. Adding writes only to the thread's own cache line
// (~1 ns; one shared atomic increment costs 5 ns alone and ten times that when threads meet on it).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>

#include "throttle/thread_slot.h"

namespace weir {

struct Flow {
  uint64_t operations = 0;
  uint64_t bytes = 0;
};

class FlowCounter {
 public:
  void Add(uint64_t bytes) {
    const size_t slot = ThreadSlot();
    Stripe& stripe = stripes_[slot];
    if (slot == kSharedThreadSlot) [[unlikely]] {
      stripe.operations.fetch_add(1, std::memory_order_relaxed);
      stripe.bytes.fetch_add(bytes, std::memory_order_relaxed);
      return;
    }
    // The slot has one writer, so load and store lose nothing and need no locked instruction.
    stripe.operations.store(stripe.operations.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    stripe.bytes.store(stripe.bytes.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }

  // Adds only if this thread stays within `allowance` bytes since `epoch` became what it is; threads that share a slot,
  // if they do so together.
  bool AddWithin(uint64_t bytes, uint32_t epoch, uint64_t allowance) {
    const size_t slot = ThreadSlot();
    if (slot == kSharedThreadSlot) [[unlikely]]
      return AddSharedWithin(bytes, epoch, allowance);
    Stripe& stripe = stripes_[slot];
    const uint64_t before = stripe.epoch == epoch ? stripe.epoch_bytes : 0;
    if (bytes > allowance || before > allowance - bytes) return false;
    stripe.epoch = epoch;
    stripe.epoch_bytes = before + bytes;
    stripe.operations.store(stripe.operations.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    stripe.bytes.store(stripe.bytes.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
    return true;
  }

  Flow Sum() const {
    Flow sum;
    for (const Stripe& s : stripes_) {
      sum.operations += s.operations.load(std::memory_order_relaxed);
      sum.bytes += s.bytes.load(std::memory_order_relaxed);
    }
    return sum;
  }

 private:
  struct alignas(64) Stripe {
    std::atomic<uint64_t> operations{0};
    std::atomic<uint64_t> bytes{0};
    // The owner's alone.
    uint32_t epoch = 0;
    uint64_t epoch_bytes = 0;
  };

  bool AddSharedWithin(uint64_t bytes, uint32_t epoch, uint64_t allowance) {
    allowance = std::min<uint64_t>(allowance, std::numeric_limits<uint32_t>::max());
    uint64_t seen = shared_epoch_bytes_.load(std::memory_order_relaxed);
    uint64_t next;
    do {
      const uint64_t before = seen >> 32 == epoch ? seen & std::numeric_limits<uint32_t>::max() : 0;
      if (bytes > allowance || before > allowance - bytes) return false;
      next = uint64_t{epoch} << 32 | (before + bytes);
    } while (!shared_epoch_bytes_.compare_exchange_weak(seen, next, std::memory_order_relaxed));
    Add(bytes);
    return true;
  }

  std::array<Stripe, kThreadSlots> stripes_;
  std::atomic<uint64_t> shared_epoch_bytes_{0};  // of the shared slot: the epoch above, its bytes below
};

}  // namespace weir
