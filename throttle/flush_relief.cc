#include "throttle/flush_relief.h"

namespace weir {
namespace {

// The flush that the engine starts by itself ends within this time, if it is not too slow.
constexpr Duration kReliefPatience = std::chrono::seconds(2);

// Each flush makes a file, so more frequent flushes would be a load of their own.
constexpr Duration kStoppedInterval = std::chrono::seconds(1);
constexpr Duration kHighInterval = std::chrono::seconds(5);

}  // namespace

bool FlushRelief::Update(TimePoint now, double level, double mark) {
  const bool stopped = level >= 1;
  const bool asks = high_.For(kReliefPatience, now, stopped || level > mark) || stopped;
  if (!asks || (last_flush_ && now - *last_flush_ < (stopped ? kStoppedInterval : kHighInterval))) return false;
  last_flush_ = now;
  return true;
}

}  // namespace weir
