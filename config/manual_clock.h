// A clock that stands still until it is told to move: for tests and simulations.
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
  explicit ManualWallClock(uint64_t seconds) : seconds_(seconds) {}

  uint64_t NowSeconds() const override { return seconds_.load(std::memory_order_relaxed); }
  void Set(uint64_t seconds) { seconds_.store(seconds, std::memory_order_relaxed); }
  void Advance(uint64_t seconds) { seconds_.fetch_add(seconds, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> seconds_;
};

}  // namespace weir
