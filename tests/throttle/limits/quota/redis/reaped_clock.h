// ReapedClock: a clock whose steps also apply to the keys of a Redis server. The remaining time of each key changes by
// the step, and expired keys are removed. (A server measures these times by its own clock, which a test cannot move.)
//
// Thread-safe.
#pragma once

#include <mutex>

#include "config/clock.h"
#include "tests/fixtures/redis_process.h"

namespace weir {

class ReapedClock final : public WallClock {
 public:
  // The clock and the server must outlive this object.
  ReapedClock(const WallClock& clock, RedisProcess& server) : clock_(clock), server_(server), seen_(clock.Now()) {}

  WallTime Now() const override;

 private:
  const WallClock& clock_;
  RedisProcess& server_;
  mutable std::mutex mutex_;
  mutable WallTime seen_;
};

}  // namespace weir
