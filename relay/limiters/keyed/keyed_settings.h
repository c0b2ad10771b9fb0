// Settings of the keyed limiter, which come from the environment and from the section `keyed` of weir.yaml:
//
//   keyed:
//     default: {window_millis: 1000, max_requests: 100, max_requests_in_queue: 400, window: fixed, shared: true}
//     keys:                                        # limits of single keys; a * is an ordinary character
//       user-123: {max_requests: 10}               # values that are missing are those of `default`
//     patterns:                                    # RE2 for a whole key that is not in `keys`; the first match applies
//       - {pattern: "team-[a-z]+", max_requests: 1000, window: sliding, shared: false}
//
// `shared` has an effect only if WEIR_KEYED_STORE names a Redis. Then all servers with that Redis count a window
// together. They cannot do so for sliding windows and for windows below 100 ms, so these must then have
// `shared: false`.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/settings.h"
#include "config/status.h"
#include "config/yaml_reader.h"
#include "throttle/limits/keyed/keyed_limiter.h"
#include "throttle/limits/keyed/redis/redis_shared_windows.h"

namespace weir {

// The clients that may use /rate and /debug.
enum class ServedKeyedApi : uint8_t { kOff, kAdmins, kAll };

struct KeyedSettings {
  ServedKeyedApi api = ServedKeyedApi::kOff;  // the default of a relay; that of `weir gate` is kAll
  // True: only administrators may use /debug, whatever `api` is. Not a setting: a relay has true, `weir gate` false.
  bool debug_for_admins = true;
  std::string store = "memory";  // or the address of a Redis, which shares the windows among servers
  WhenAway when_store_away = WhenAway::kAlone;
  // Copies of the quotas' settings WEIR_QUOTA_REDIS_…, which apply to the Redis of the keyed limiter too.
  std::string redis_prefix = "weir";
  RedisClientOptions redis;
  bool overrides = false;  // requests may set the limits of their key
  uint64_t shards = 25;
  uint64_t max_keys = 1'000'000;
  uint64_t max_waiting = 100'000;
  std::chrono::milliseconds watch_interval{900};  // not a setting: time between two checks whether the file changed
};
void Declare(SettingTable& table, KeyedSettings& settings);
// Returns an error if `store` is neither "memory" nor the address of a Redis.
Status CheckKeyedStoreName(const std::string& store);
// Returns true if a Redis shares the windows among servers.
inline bool SharesKeys(const KeyedSettings& settings) { return settings.store != "memory"; }

struct KeyedRulesRead {
  std::shared_ptr<const KeyedRules> rules = std::make_shared<KeyedRules>();
  bool has_section = false;  // the file has the section `keyed`
  std::string summary = "100 requests in 1 s for every key";
  std::vector<std::string> warnings;  // for the log
};
// Reads the rules in the file. Returns the default rules if `config_file` is empty or the file has no section `keyed`.
// `shares` is the result of SharesKeys. `running` has the rules in use, or is null. If running->has_section is true, a
// file without the section is an error: the file may be only half written, and default limits must not replace the
// configured ones then.
Result<KeyedRulesRead> ReadKeyedRules(const std::string& config_file, bool shares = false,
                                      const KeyedRulesRead* running = nullptr);
// Reads the section `keyed` into *read. Reports mistakes as errors of the values in the section (YamlValue::Error).
void ReadKeyedSection(const YamlValue& section, bool shares, KeyedRulesRead* read);

}  // namespace weir
