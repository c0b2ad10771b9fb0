// Time as weir uses it: durations and instants of the steady clock, and a clock that can be handed in, so that every
// part that waits or measures runs as well on virtual time.
#pragma once

#include <chrono>
#include <cstdint>

namespace weir {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

inline double ToSeconds(Duration d) { return std::chrono::duration<double>(d).count(); }

// The nearest whole nanosecond; seconds must be within the range of Duration (about 292 years).
inline Duration FromSeconds(double seconds) {
  return std::chrono::round<Duration>(std::chrono::duration<double>(seconds));
}

// Any number of threads may call Now() at once.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint Now() const = 0;

  // The machine's monotonic clock.
  static const Clock& System();
};

// The time of day, for what the world dates: seconds since 1970. Any number of threads may ask at once.
class WallClock {
 public:
  virtual ~WallClock() = default;
  virtual uint64_t NowSeconds() const = 0;

  static const WallClock& System();
};

}  // namespace weir
