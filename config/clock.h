// Time as weir uses it: durations and instants of the steady clock, and clocks. Code that needs the time gets its clock
// from its caller. A test passes a clock of virtual time (manual_clock.h) to code that waits or measures time.
#pragma once

#include <chrono>
#include <cstdint>

namespace weir {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

inline double ToSeconds(Duration d) { return std::chrono::duration<double>(d).count(); }

// Returns `seconds` as a Duration, rounded to the nearest nanosecond. `seconds` must be within the range of Duration
// (about 292 years in both directions).
inline Duration FromSeconds(double seconds) {
  return std::chrono::round<Duration>(std::chrono::duration<double>(seconds));
}

// A clock that never goes back. Any number of threads may call Now() at once.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint Now() const = 0;

  // Returns the machine's monotonic clock, which is valid until the process ends.
  static const Clock& System();
};

// A date and a time of day in UTC, for other programs and for people.
using WallTime = std::chrono::sys_time<Duration>;

// A clock that returns the date and the time of day. It may jump forward or back when the system's clock is set. Any
// number of threads may call Now() at once.
class WallClock {
 public:
  virtual ~WallClock() = default;
  virtual WallTime Now() const = 0;
  // Returns the whole seconds since 1970.
  uint64_t NowSeconds() const {
    return static_cast<uint64_t>(std::chrono::floor<std::chrono::seconds>(Now()).time_since_epoch().count());
  }

  // Returns the system's clock.
  static const WallClock& System();
};

}  // namespace weir
