// Settings of the endpoints that queue, which come from the environment and from the sections `defaults` and
// `endpoints` of weir.yaml:
//
//   defaults: {max_dynamic_endpoints: 1000}    # may have unit, scheduler, algorithm, max_queue_size and overflow too
//   endpoints:
//     - path: /api                  # applies to all paths below it too, such as /api/users (see below)
//       rate: 10                    # requests in a unit
//       unit: rps                   # rps | rpm
//       scheduler: fifo             # fifo | lifo | priority | random
//       algorithm: strict           # strict | token_bucket | sliding_window | token_window
//       max_queue_size: 500
//       overflow: reject            # reject | block
//       burst_size: 20              # token_bucket
//       window_seconds: 60          # sliding_window, token_window
//       queue_timeout: 3            # in seconds; refuses a request whose predicted wait is longer; 0: no timeout
//     - {path: /llm, algorithm: token_window, window_seconds: 60, tokens_per_window: 10000, default_tokens: 1}
//
// A path below a configured path, such as /api/users, gets a queue and a rate of its own when a request first names it.
// At most max_dynamic_endpoints paths get this; the requests to all further paths share the queue of the nearest
// configured path above. A missing value is taken from the nearest configured path above, else from `defaults`, else it
// is the default that EndpointRule describes. The section `server` is skipped with a warning. The configuration files
// of rls (rls.yml) have it; rls is another rate limiter, whose design this one follows.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "config/settings.h"
#include "config/status.h"
#include "throttle/limits/queued/endpoint_config.h"

namespace weir {

// The clients that may use the endpoints and /debug/endpoints.
enum class ServedQueuedApi : uint8_t { kOff, kAdmins, kAll };

struct QueuedSettings {
  ServedQueuedApi api = ServedQueuedApi::kOff;  // the default of a relay; that of `weir gate` is kAll
  // True: only administrators may use /debug/endpoints, whatever `api` is. Not a setting: a relay has true, `weir gate`
  // false.
  bool debug_for_admins = true;
  uint64_t shards = 25;
  uint64_t max_waiting = 100'000;
  std::chrono::milliseconds idle_after = std::chrono::minutes(10);
  std::chrono::milliseconds watch_interval{900};  // not a setting: time between two checks whether the file changed
};
void Declare(SettingTable& table, QueuedSettings& settings);

struct QueuedRulesRead {
  std::shared_ptr<const QueuedRules> rules = std::make_shared<QueuedRules>();
  bool has_section = false;  // the file has the section `endpoints`
  bool has_server = false;   // the file has the section `server`, which has no effect
  std::string summary = "none is configured";
};
// Returns true if the path cannot be an endpoint, because a route of this server's port has the same first segment.
using IsOwnPath = std::function<bool(std::string_view path)>;
// Reads the endpoints in the file; none if `config_file` is empty or the file has no section `endpoints`. `running` has
// the rules in use, or is null. If running->has_section is true, a file without the section is an error: the file may
// be only half written, and rules without endpoints would refuse all waiting requests. It is also an error if `is_own`
// returns true for the path of an endpoint, or if a route of any relay or gate, such as /metrics, has the same first
// segment.
Result<QueuedRulesRead> ReadQueuedRules(const std::string& config_file, const QueuedRulesRead* running = nullptr,
                                        const IsOwnPath& is_own = {});

}  // namespace weir
