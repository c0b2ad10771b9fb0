#include "throttle/flow_counter.h"

#include <algorithm>
#include <limits>

namespace weir {
namespace {

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

// A thread reserves the bytes that it needs, plus a 32nd of the allowance that then remains. So shared writes are rare,
// and little stays unused.
constexpr uint64_t kPiecesOfRest = 32;

// Only the low 16 bits of an epoch are stored. So if threads last reserved bytes exactly a multiple of 65,536 epochs
// ago, an epoch is mistaken for that one, and begins with less than its whole allowance.
constexpr int kEpochShift = 48;
constexpr uint64_t kMostAllowance = (uint64_t{1} << kEpochShift) - 1;

}  // namespace

bool FlowCounter::AddSharedWithin(uint64_t bytes, uint32_t epoch, uint64_t allowance) {
  uint64_t piece = 0;
  if (allowance != kUnlimited && !TakePiece(bytes, 0, epoch, allowance, &piece)) return false;
  Add(bytes);
  return true;
}

bool FlowCounter::Replenish(Stripe& stripe, uint64_t bytes, uint32_t epoch, uint64_t allowance) {
  if (stripe.epoch != epoch) stripe.left = 0;
  stripe.epoch = epoch;
  uint64_t piece = kUnlimited - stripe.left;
  if (allowance != kUnlimited && !TakePiece(bytes - stripe.left, kPiecesOfRest, epoch, allowance, &piece)) return false;
  stripe.left += piece;
  return true;
}

// Reserves `least` bytes, plus a `share`-th of the remaining bytes if `share` is not 0. Returns false if fewer than
// `least` bytes remain.
bool FlowCounter::TakePiece(uint64_t least, uint64_t share, uint32_t epoch, uint64_t allowance, uint64_t* piece) {
  allowance = std::min(allowance, kMostAllowance);
  const uint64_t tag = uint64_t{epoch} << kEpochShift;
  uint64_t seen = taken_.load(std::memory_order_relaxed);
  uint64_t taken = 0;
  do {
    taken = (seen ^ tag) >> kEpochShift == 0 ? seen & kMostAllowance : 0;
    const uint64_t left = allowance - std::min(taken, allowance);
    if (least > left) return false;
    *piece = least + (share == 0 ? 0 : (left - least) / share);
  } while (!taken_.compare_exchange_weak(seen, tag | (taken + *piece), std::memory_order_relaxed));
  return true;
}

}  // namespace weir
