// ReapedClock: a clock whose steps also apply to the keys of a Redis: their remaining life is changed by the step, and
// expired keys are removed. (A server counts the life of its keys by its own clock, which a test cannot move.)
//
// Thread-safe.
#pragma once

#include <mutex>

#include "config/clock.h"
#include "tests/fixtures/redis_process.h"

namespace weir {

class ReapedClock final : public WallClock {
 public:
  // The clock and the server outlive this object.
  ReapedClock(const WallClock& clock, RedisProcess& server) : clock_(clock), server_(server), seen_(clock.Now()) {}

  WallTime Now() const override;

 private:
  const WallClock& clock_;
  RedisProcess& server_;
  mutable std::mutex mutex_;
  mutable WallTime seen_;
};

}  // namespace weir
