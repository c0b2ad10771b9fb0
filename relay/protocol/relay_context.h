// RelayContext: the objects that all connections and the event pipeline of a running relay share. The context must
// outlive the connections and the pipeline.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "config/clock.h"
#include "monitors/own_bytes.h"
#include "relay/account/byte_budget.h"
#include "relay/account/work_pool.h"
#include "relay/observe/relay/relay_counters.h"
#include "relay/observe/trace/tracer.h"
#include "relay/protocol/delivery.h"
#include "relay/protocol/relay_settings.h"
#include "relay/protocol/scan_turns.h"
#include "relay/rules/rules_in_force.h"
#include "relay/search/searched_kinds.h"
#include "relay/store/event_store.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

class DiskBudget;
class Ladder;
class PolicyPlugin;

struct RelayContext {
  const RelaySettings& settings;
  EventStore& store;
  AdaptiveLimiter& limiter;  // the gates for reads and writes
  WorkPool& pool;            // the workers
  RelayCounters& counters;   // metrics
  Delivery& delivery;
  ByteBudget& budget;                      // the bytes of all events that are in flight
  uint64_t max_pending_bytes = 0;          // the bytes of waiting output above which the server ends a connection
  uint64_t max_message_bytes = 256 << 10;  // the longest message of a client
  // WEIR_SEARCH_KINDS, sorted, which Check has accepted.
  std::vector<uint16_t> searched_kinds = ParseSearchedKinds(settings.search_kinds).value();
  // The operator's rules. The default has none.
  std::shared_ptr<RulesInForce> rules = std::make_shared<RulesInForce>();
  std::unique_ptr<ScanTurns> scan_turns = std::make_unique<ScanTurns>();
  CountOwnBytes count_own_bytes = [](int64_t, OwnUse) {};
  // Sends an ephemeral event to the other relays that share the store (relay/store/siblings/siblings.h). Called on
  // workers.
  std::function<void(EventView)> share_ephemeral = [](EventView) {};
  Tracer* tracer = nullptr;  // null if tracing is off
  // The operator's plugins that judge events of clients, events of imports, and requests. Null if there is none.
  PolicyPlugin* write_plugin = nullptr;
  PolicyPlugin* import_plugin = nullptr;
  PolicyPlugin* read_plugin = nullptr;
  // The trust ladder, which holds back strangers first (relay/standing/ladder.h). Null if it is off. Set before the
  // first connection is accepted.
  Ladder* ladder = nullptr;
  // Says for which events there is room on the disk (relay/retention/disk_budget.h). Null if there is no budget. Set
  // before the first connection is accepted.
  DiskBudget* disk_budget = nullptr;
  const Clock& clock = Clock::System();
  const WallClock& wall_clock = WallClock::System();
};

}  // namespace weir
