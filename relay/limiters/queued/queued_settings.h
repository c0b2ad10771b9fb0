// What an operator can set about the endpoints that queue: in the environment, and in weir.yaml.
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
//       queue_timeout: 3            # seconds; 0: none
//     - {path: /llm, algorithm: token_window, window_seconds: 60, tokens_per_window: 10000, default_tokens: 1}
//
// What is not stated comes from the nearest endpoint above it, then from `defaults`, then from EndpointRule's. The
// section `server` of an rls.yml is let pass, and warned of.
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

// Who may use the endpoints.
enum class ServedQueuedApi : uint8_t { kOff, kAdmins, kAll };

struct QueuedSettings {
  ServedQueuedApi api = ServedQueuedApi::kOff;  // the relay's; `weir gate` serves all
  bool debug_for_admins = true;                 // no setting: /debug/endpoints on a relay's port, open to everybody
  uint64_t shards = 25;
  uint64_t max_waiting = 100'000;
  std::chrono::milliseconds idle_after = std::chrono::minutes(10);
  std::chrono::milliseconds watch_interval{900};  // no setting: as that of the quotas
};
void Declare(SettingTable& table, QueuedSettings& settings);

struct QueuedRulesRead {
  std::shared_ptr<const QueuedRules> rules = std::make_shared<QueuedRules>();
  bool has_section = false;  // the file says something of endpoints
  bool has_server = false;   // and something of a host and a port, which is not read
  std::string summary = "none is configured";
};
// Of the file; no endpoint where there is none, or no section. A section of `running` must not be missing: a file that
// was emptied, or written as far as its first lines, would send away everybody who waits.
// A path that `is_own`, because it is a route's of the port, is an error, as those are that all programs have.
using IsOwnPath = std::function<bool(std::string_view path)>;
Result<QueuedRulesRead> ReadQueuedRules(const std::string& config_file, const QueuedRulesRead* running = nullptr,
                                        const IsOwnPath& is_own = {});

}  // namespace weir
