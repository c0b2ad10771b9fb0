#include "config/clock.h"

namespace weir {

const Clock& Clock::System() {
  class SteadyClock final : public Clock {
    TimePoint Now() const override { return std::chrono::steady_clock::now(); }
  };
  static const SteadyClock clock;
  return clock;
}

}  // namespace weir
