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
    uint64_t NowSeconds() const override {
      return static_cast<uint64_t>(
          std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
              .count());
    }
  };
  static const SystemClock clock;
  return clock;
}

}  // namespace weir
