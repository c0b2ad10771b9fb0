// BelievedClock: the time of day for decisions that cannot be undone, such as removing expired events. If the system's
// clock is set ahead, this clock follows only after ten minutes, because a wrong clock may be a year ahead for some
// seconds, until a time server corrects it. If the system's clock is set back, this clock follows at once. When it is
// made, it believes the system's clock.
//
// Threads: only one thread at a time may use it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "config/clock.h"

namespace weir {

class BelievedClock {
 public:
  static constexpr Duration kDoubtFor = std::chrono::minutes(10);

  // Both clocks must outlive the object.
  BelievedClock(const WallClock& wall, const Clock& steady) : wall_(wall), steady_(steady) { NowSeconds(); }

  // Returns the believed time of day, in seconds since 1970. It notices a change of the system's clock only when it is
  // called, so it should be called from time to time.
  uint64_t NowSeconds() {
    const TimePoint now = steady_.Now();
    const Duration ahead = wall_.Now().time_since_epoch() - now.time_since_epoch();
    if (ahead <= believed_) {
      believed_ = ahead;
      doubt_.reset();
    } else {
      if (!doubt_) doubt_ = {now, ahead};
      doubt_->ahead = std::min(doubt_->ahead, ahead);
      if (now - doubt_->since >= kDoubtFor) {
        believed_ = doubt_->ahead;
        doubt_.reset();
      }
    }
    return static_cast<uint64_t>(std::chrono::floor<std::chrono::seconds>(now.time_since_epoch() + believed_).count());
  }

 private:
  // A period during which the wall clock has been ahead of the believed time.
  struct Doubt {
    TimePoint since;
    Duration ahead;  // the smallest lead of the wall clock over the steady one since then
  };

  const WallClock& wall_;
  const Clock& steady_;
  Duration believed_ = Duration::max();  // the believed lead of the wall clock over the steady one
  std::optional<Doubt> doubt_;
};

}  // namespace weir
