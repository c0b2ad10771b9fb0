// Settings of the endpoints that queue: in the environment, and in weir.yaml.
//
//   defaults: {max_dynamic_endpoints: 1000}    # also unit, scheduler, algorithm, max_queue_size and overflow
//   endpoints:
//     - path: /api                  # and all below it: each path has a queue and a rate of its own
//       rate: 10                    # requests in a unit
//       unit: rps                   # rps | rpm
//       scheduler: fifo             # fifo | lifo | priority | random
//       algorithm: strict           # strict | token_bucket | sliding_window | token_window
//       max_queue_size: 500
//       overflow: reject            # reject | block
//       burst_size: 20              # token_bucket
//       window_seconds: 60          # sliding_window, token_window
//       queue_timeout: 3            # seconds; 0: no timeout
//     - {path: /llm, algorithm: token_window, window_seconds: 60, tokens_per_window: 10000, default_tokens: 1}
//
// Values that are not stated come from the nearest endpoint above, then from `defaults`, then from EndpointRule's. The
// section `server` of an rls.yml is skipped, with a warning.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "config/settings.h"
#include "config/status.h"
#include "throttle/queued/endpoint_config.h"

namespace weir {

// The clients that may use the endpoints.
enum class ServedQueuedApi : uint8_t { kOff, kAdmins, kAll };

struct QueuedSettings {
  ServedQueuedApi api = ServedQueuedApi::kOff;  // on the relay's port; `weir gate` serves all
  bool debug_for_admins = true;                 // no setting: a relay's port is open to all, but not /debug/endpoints
  uint64_t shards = 25;
  uint64_t max_waiting = 100'000;
  std::chrono::milliseconds idle_after = std::chrono::minutes(10);
  std::chrono::milliseconds watch_interval{900};  // no setting: the same as that of the quotas
};
void Declare(SettingTable& table, QueuedSettings& settings);

struct QueuedRulesRead {
  std::shared_ptr<const QueuedRules> rules = std::make_shared<QueuedRules>();
  bool has_section = false;  // the file has a section of endpoints
  bool has_server = false;   // and one of a host and a port, which is not read
  std::string summary = "none is configured";
};
// Reads the endpoints of the file; there are none if there is no file or no section. It is an error if `running` had a
// section and the file has none: a file that was emptied, or written only as far as its first lines, would send away
// all requests that wait. A path for which `is_own` is true, because it is a route of the port, is an error, as are the
// paths that all programs have.
using IsOwnPath = std::function<bool(std::string_view path)>;
Result<QueuedRulesRead> ReadQueuedRules(const std::string& config_file, const QueuedRulesRead* running = nullptr,
                                        const IsOwnPath& is_own = {});

}  // namespace weir
