#include "config/clock.h"

namespace weir {

// The clocks are never destroyed: threads of a static object, such as a throttle, use them until it is destroyed.

const Clock& Clock::System() {
  class SteadyClock final : public Clock {
    TimePoint Now() const override { return std::chrono::steady_clock::now(); }
  };
  static const auto* const clock = new SteadyClock;
  return *clock;
}

const WallClock& WallClock::System() {
  class SystemClock final : public WallClock {
    WallTime Now() const override { return std::chrono::system_clock::now(); }
  };
  static const auto* const clock = new SystemClock;
  return *clock;
}

}  // namespace weir
