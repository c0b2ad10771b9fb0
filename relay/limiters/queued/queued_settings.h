// Settings of the endpoints that queue: those of the environment, and the sections `defaults` and `endpoints` of
// weir.yaml.
//
//   defaults: {max_dynamic_endpoints: 1000}    # may have unit, scheduler, algorithm, max_queue_size and overflow too
//   endpoints:
//     - path: /api                  # with all paths below it; each path has its own queue and rate
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
// A missing value comes from the nearest endpoint above, else from `defaults`, else from EndpointRule. The section
// `server`, which files of the program rls have (rls.yml), is skipped with a warning.
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
  ServedQueuedApi api = ServedQueuedApi::kOff;  // the default of a relay; that of `weir gate` is kAll
  bool debug_for_admins = true;                 // no setting: true on a relay, whose port is open to every client
  uint64_t shards = 25;
  uint64_t max_waiting = 100'000;
  std::chrono::milliseconds idle_after = std::chrono::minutes(10);
  std::chrono::milliseconds watch_interval{900};  // no setting: time between two looks at the file
};
void Declare(SettingTable& table, QueuedSettings& settings);

struct QueuedRulesRead {
  std::shared_ptr<const QueuedRules> rules = std::make_shared<QueuedRules>();
  bool has_section = false;  // the file has the section `endpoints`
  bool has_server = false;   // the file has the section `server`, which has no effect
  std::string summary = "none is configured";
};
// Returns true if a path is a route of the port.
using IsOwnPath = std::function<bool(std::string_view path)>;
// Reads the endpoints of the file. If `config_file` is empty or the file has no section `endpoints`, there are none.
// `running` has the rules in use, or is null. If they come from a section, a file without one is an error: a file that
// was emptied, or is only written in part so far, would get all waiting requests refused. A path for which `is_own`
// returns true is an error, and so are the paths that weir's own programs use.
Result<QueuedRulesRead> ReadQueuedRules(const std::string& config_file, const QueuedRulesRead* running = nullptr,
                                        const IsOwnPath& is_own = {});

}  // namespace weir
