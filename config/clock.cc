#include "config/clock.h"

namespace weir {

const Clock& Clock::System() {
  class SteadyClock final : public Clock {
    TimePoint Now() const override { return std::chrono::steady_clock::now(); }
  };
  static const SteadyClock clock;
  return clock;
}

const WallClock& WallClock::System() {
  class SystemClock final : public WallClock {
    WallTime Now() const override { return std::chrono::system_clock::now(); }
  };
  static const SystemClock clock;
  return clock;
}

}  // namespace weir
