// ManualClock and ManualWallClock: clocks that stand still until a test or a simulation moves them. Any thread may read
// them; one thread at a time may move them.
#pragma once

#include <atomic>

#include "config/clock.h"

namespace weir {

class ManualClock final : public Clock {
 public:
  explicit ManualClock(TimePoint start = TimePoint{}) : now_(start) {}

  TimePoint Now() const override { return now_.load(std::memory_order_acquire); }
  void Set(TimePoint now) { now_.store(now, std::memory_order_release); }
  void Advance(Duration d) { Set(Now() + d); }

 private:
  std::atomic<TimePoint> now_;
};

class ManualWallClock final : public WallClock {
 public:
  explicit ManualWallClock(uint64_t seconds) : ManualWallClock(WallTime(std::chrono::seconds(seconds))) {}
  explicit ManualWallClock(WallTime now) : now_(now) {}

  WallTime Now() const override { return now_.load(std::memory_order_acquire); }
  void Set(WallTime now) { now_.store(now, std::memory_order_release); }
  void Set(uint64_t seconds) { Set(WallTime(std::chrono::seconds(seconds))); }
  void Advance(Duration d) { Set(Now() + d); }
  void Advance(uint64_t seconds) { Advance(std::chrono::seconds(seconds)); }

 private:
  std::atomic<WallTime> now_;
};

}  // namespace weir
