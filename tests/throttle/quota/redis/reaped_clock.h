// ReapedClock: another clock, whose steps the keys of a Redis feel too: they live so much shorter, or longer, and those
// whose time has come are gone. (A server counts the life of its keys by its own clock, which a test cannot move.)
//
// Threads: any.
#pragma once

#include <mutex>

#include "config/clock.h"
#include "tests/fixtures/redis_process.h"

namespace weir {

class ReapedClock final : public WallClock {
 public:
  // Both outlive it.
  ReapedClock(const WallClock& clock, RedisProcess& server) : clock_(clock), server_(server), seen_(clock.Now()) {}

  WallTime Now() const override;

 private:
  const WallClock& clock_;
  RedisProcess& server_;
  mutable std::mutex mutex_;
  mutable WallTime seen_;
};

}  // namespace weir
