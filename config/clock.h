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

// The time of day, for dates that other programs and people see. It may step in either direction.
using WallTime = std::chrono::sys_time<Duration>;

// Any number of threads may call Now() at once.
class WallClock {
 public:
  virtual ~WallClock() = default;
  virtual WallTime Now() const = 0;
  uint64_t NowSeconds() const {
    return static_cast<uint64_t>(std::chrono::floor<std::chrono::seconds>(Now()).time_since_epoch().count());
  }

  static const WallClock& System();
  // The time of day at the first call, carried on by the steady clock: it never steps. It is valid within one process
  // only: another's may differ by what the system's clock has stepped between their starts.
  static const WallClock& Unstepped();
};

}  // namespace weir
