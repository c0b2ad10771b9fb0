// FlowCounter: counts the operations and bytes that any number of threads add. Add usually writes only to a cache line
// of the calling thread (about 1 ns; an atomic increment of one shared counter costs 5 ns in a single thread, and ten
// times as much if threads compete for it). Threads without a slot of their own (thread_slot.h) share a cache line.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

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
    // Only one thread writes to the slot, so a load and a store lose no update and need no locked instruction.
    stripe.operations.store(stripe.operations.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    stripe.bytes.store(stripe.bytes.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }

  // Adds one operation of `bytes` bytes and returns true if all threads together have then added at most `allowance`
  // bytes since `epoch` last changed. Otherwise adds nothing and returns false. Bytes added by Add do not count against
  // the allowance. A thread reserves a part of the allowance in advance, so most calls write no memory that threads
  // share. If a thread does not use all that it has reserved, other threads cannot use the rest before the next epoch.
  bool AddWithin(uint64_t bytes, uint32_t epoch, uint64_t allowance) {
    const size_t slot = ThreadSlot();
    Stripe& stripe = stripes_[slot];
    if (slot == kSharedThreadSlot) [[unlikely]]
      return AddSharedWithin(bytes, epoch, allowance);
    if (stripe.epoch != epoch || stripe.left < bytes) [[unlikely]] {
      if (!Replenish(stripe, bytes, epoch, allowance)) return false;
    }
    stripe.left -= bytes;
    stripe.operations.store(stripe.operations.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    stripe.bytes.store(stripe.bytes.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
    return true;
  }

  // Returns the totals since construction. Additions that other threads make at the same time may be missing.
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
    // Only the thread with this slot uses these two.
    uint32_t epoch = 0;
    uint64_t left = 0;  // bytes that the thread has reserved in this epoch and not used
  };

  bool AddSharedWithin(uint64_t bytes, uint32_t epoch, uint64_t allowance);
  bool Replenish(Stripe& stripe, uint64_t bytes, uint32_t epoch, uint64_t allowance);
  bool TakePiece(uint64_t least, uint64_t share, uint32_t epoch, uint64_t allowance, uint64_t* piece);

  std::array<Stripe, kThreadSlots> stripes_;
  alignas(64) std::atomic<uint64_t> taken_{0};  // upper 16 bits: low bits of the epoch; others: bytes reserved in it
};

}  // namespace weir
