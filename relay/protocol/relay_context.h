// RelayContext: the objects that the parts of a running relay share. It outlives all parts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "config/clock.h"
#include "monitors/own_bytes.h"
#include "relay/account/byte_budget.h"
#include "relay/account/work_pool.h"
#include "relay/metrics/relay_counters.h"
#include "relay/protocol/delivery.h"
#include "relay/protocol/relay_settings.h"
#include "relay/protocol/scan_turns.h"
#include "relay/store/event_store.h"
#include "relay/trace/tracer.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

class EventPipeline;

struct RelayContext {
  const RelaySettings& settings;
  EventStore& store;
  AdaptiveLimiter& limiter;
  WorkPool& pool;
  RelayCounters& counters;
  Delivery& delivery;
  ByteBudget& budget;
  uint64_t max_pending_bytes = 0;  // output of a connection at which the server ends it
  std::unique_ptr<ScanTurns> scan_turns = std::make_unique<ScanTurns>();
  CountOwnBytes count_own_bytes = [](int64_t, OwnUse) {};
  // Sends an ephemeral event to the relays that share the store.
  std::function<void(EventView)> share_ephemeral = [](EventView) {};
  Tracer* tracer = nullptr;  // null: nothing is traced
  const Clock& clock = Clock::System();
  const WallClock& wall_clock = WallClock::System();
};

}  // namespace weir
