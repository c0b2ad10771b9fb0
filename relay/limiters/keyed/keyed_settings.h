// Settings of the keyed limiter: in the environment, and in the `keyed` section of weir.yaml.
//
//   keyed:
//     default: {window_millis: 1000, max_requests: 100, max_requests_in_queue: 400, window: fixed, shared: true}
//     keys:                                        # these very keys
//       user-123: {max_requests: 10}               # values that are not stated are as in default
//     patterns:                                    # RE2, of the whole key; the first that matches
//       - {pattern: "team-[a-z]+", max_requests: 1000, window: sliding, shared: false}
//
// shared: the servers of WEIR_KEYED_STORE share the window, if that is set; then limits that cannot be shared have to
// say `shared: false`.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "config/settings.h"
#include "config/status.h"
#include "config/yaml_reader.h"
#include "throttle/keyed/keyed_limiter.h"
#include "throttle/keyed/redis/redis_shared_windows.h"

namespace weir {

// The clients that may use /rate.
enum class ServedKeyedApi : uint8_t { kOff, kAdmins, kAll };

struct KeyedSettings {
  ServedKeyedApi api = ServedKeyedApi::kOff;  // on the relay's port; `weir gate` serves all
  bool debug_for_admins = true;               // no setting: a relay's port is open to everybody, but not /debug
  std::string store = "memory";
  WhenAway when_store_away = WhenAway::kAlone;
  // No setting: the same as that of the quotas, which may use the same Redis.
  std::string redis_prefix = "weir";
  RedisClientOptions redis;
  bool overrides = false;
  uint64_t shards = 25;
  uint64_t max_keys = 1'000'000;
  uint64_t max_waiting = 100'000;
  std::chrono::milliseconds watch_interval{900};  // no setting: the same as that of the quotas
};
void Declare(SettingTable& table, KeyedSettings& settings);
Status CheckKeyedStoreName(const std::string& store);
inline bool SharesKeys(const KeyedSettings& settings) { return settings.store != "memory"; }

struct KeyedRulesRead {
  std::shared_ptr<const KeyedRules> rules = std::make_shared<KeyedRules>();
  bool has_section = false;  // the file has a section of keys
  std::string summary = "100 requests in 1 s for every key";
};
// Reads the rules of the file; the defaults hold if there is no file or no section. `shares` is SharesKeys. It is an
// error if `running` had a section and the file has none: a file that was emptied, or written only as far as its first
// lines, would lift all clients' limits.
Result<KeyedRulesRead> ReadKeyedRules(const std::string& config_file, bool shares = false,
                                      const KeyedRulesRead* running = nullptr);
// Reads the section itself.
void ReadKeyedSection(const YamlValue& section, bool shares, KeyedRulesRead* read);

}  // namespace weir
