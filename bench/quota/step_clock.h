// A clock whose time the measurement moves, so that the windows hold as much as it wants. To read it costs as much as
// to read the real one.
#pragma once

#include <atomic>

#include "config/clock.h"

namespace weir {

class StepClock final : public WallClock {
 public:
  WallTime Now() const override {
    static const WallClock& real = WallClock::Unstepped();
    const WallTime read = real.Now();
    asm volatile("" : : "r"(read.time_since_epoch().count()));  // or the compiler would leave the reading out
    return WallTime(Duration(now_.load(std::memory_order_relaxed)));
  }
  void Advance(Duration time) { now_.fetch_add(time.count(), std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> now_{Duration(std::chrono::hours(24 * 365 * 50)).count()};
};

}  // namespace weir
