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
  if (!stopped && level <= mark) high_since_.reset();
  if ((stopped || level > mark) && !high_since_) high_since_ = now;
  const bool asks = stopped || (high_since_ && now - *high_since_ >= kReliefPatience);
  if (!asks || (last_flush_ && now - *last_flush_ < (stopped ? kStoppedInterval : kHighInterval))) return false;
  last_flush_ = now;
  return true;
}

}  // namespace weir
