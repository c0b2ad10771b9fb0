// BelievedClock: the time of day for decisions that cannot be undone, such as removing events. A clock that was set
// ahead is believed only after it has stayed so for ten minutes: a wrong clock is a year ahead for some seconds, until
// a time server is heard again. A clock that was set back is believed at once, and so is the clock with which the
// process begins.
//
// One thread at a time.
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

  BelievedClock(const WallClock& wall, const Clock& steady) : wall_(wall), steady_(steady) { NowSeconds(); }

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
  struct Doubt {
    TimePoint since;
    Duration ahead;  // the smallest lead since then
  };

  const WallClock& wall_;
  const Clock& steady_;
  Duration believed_ = Duration::max();  // how far the wall clock is ahead of the steady one
  std::optional<Doubt> doubt_;
};

}  // namespace weir
