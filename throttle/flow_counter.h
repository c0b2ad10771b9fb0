// FlowCounter: counts operations and bytes that passed, for any number of threads. Adding writes only to the thread's
// own cache line (~1 ns; one shared atomic increment costs 5 ns alone and ten times that when threads meet on it).
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
    // The slot has one writer, so load and store lose nothing and need no locked instruction.
    stripe.operations.store(stripe.operations.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    stripe.bytes.store(stripe.bytes.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }

  // Adds and returns true only if all threads together stay within `allowance` bytes since `epoch` became what it is. A
  // thread takes its part of the allowance in pieces, so most calls write nothing that threads share. If a thread does
  // not use all of a piece, the rest is lost to the others until the next epoch.
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
    // Used by the owner alone.
    uint32_t epoch = 0;
    uint64_t left = 0;  // bytes left of what it took in this epoch
  };

  bool AddSharedWithin(uint64_t bytes, uint32_t epoch, uint64_t allowance);
  bool Replenish(Stripe& stripe, uint64_t bytes, uint32_t epoch, uint64_t allowance);
  bool TakePiece(uint64_t least, uint64_t share, uint32_t epoch, uint64_t allowance, uint64_t* piece);

  std::array<Stripe, kThreadSlots> stripes_;
  alignas(64) std::atomic<uint64_t> taken_{0};  // the epoch's low bits above, bytes taken of the allowance below
};

}  // namespace weir
