// What the parts of a running relay share. It outlives them all.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "config/clock.h"
#include "relay/byte_budget.h"
#include "relay/delivery.h"
#include "relay/filter_values.h"
#include "relay/relay_metrics.h"
#include "relay/relay_settings.h"
#include "relay/store/event_store.h"
#include "relay/work_pool.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

class EventPipeline;

struct RelayContext {
  const RelaySettings& settings;
  EventStore& store;
  AdaptiveLimiter& limiter;
  WorkPool& pool;
  RelayMetrics& metrics;
  Delivery& delivery;
  ByteBudget& budget;
  uint64_t max_pending_bytes = 0;           // of a connection, as its server has it
  uint64_t max_filter_values = UINT64_MAX;  // of all requests
  std::unique_ptr<FilterValues> filter_values = std::make_unique<FilterValues>();
  std::function<void(int64_t)> count_own_bytes = [](int64_t) {};
  const Clock& clock = Clock::System();
  const WallClock& wall_clock = WallClock::System();
};

}  // namespace weir
