// StepClock: a clock that the benchmark moves, so that the quotas' windows have as many entries as the benchmark wants.
// Reading it costs as much as reading the real clock.
#pragma once

#include <atomic>

#include "config/clock.h"

namespace weir {

class StepClock final : public WallClock {
 public:
  WallTime Now() const override {
    static const WallClock& real = WallClock::System();
    const WallTime read = real.Now();
    asm volatile("" : : "r"(read.time_since_epoch().count()));  // otherwise the compiler would remove the call
    return WallTime(Duration(now_.load(std::memory_order_relaxed)));
  }
  void Advance(Duration time) { now_.fetch_add(time.count(), std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> now_{Duration(std::chrono::hours(24 * 365 * 50)).count()};
};

}  // namespace weir
