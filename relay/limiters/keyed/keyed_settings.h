// What an operator can set about the keyed limiter: in the environment, and in the `keyed` section of weir.yaml.
//
//   keyed:
//     default: {window_millis: 1000, max_requests: 100, max_requests_in_queue: 400, window: fixed, shared: true}
//     keys:                                        # these very keys
//       user-123: {max_requests: 10}               # what is not stated is as in default
//     patterns:                                    # RE2, of the whole key; the first that matches
//       - {pattern: "team-[a-z]+", max_requests: 1000, window: sliding, shared: false}
//
// shared: with the other servers of WEIR_KEYED_STORE, where that is set; then what cannot be shared has to say so.
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

// Who may use /rate.
enum class ServedKeyedApi : uint8_t { kOff, kAdmins, kAll };

struct KeyedSettings {
  ServedKeyedApi api = ServedKeyedApi::kOff;  // the relay's; `weir gate` serves all
  bool debug_for_admins = true;               // no setting: /debug on a relay's port, open to everybody
  std::string store = "memory";
  WhenAway when_store_away = WhenAway::kAlone;
  // No setting: as that of the quotas, whose Redis it may be.
  std::string redis_prefix = "weir";
  RedisClientOptions redis;
  bool overrides = false;
  uint64_t shards = 25;
  uint64_t max_keys = 1'000'000;
  uint64_t max_waiting = 100'000;
  std::chrono::milliseconds watch_interval{900};  // no setting: as that of the quotas
};
void Declare(SettingTable& table, KeyedSettings& settings);
Status CheckKeyedStoreName(const std::string& store);
inline bool SharesKeys(const KeyedSettings& settings) { return settings.store != "memory"; }

struct KeyedRulesRead {
  std::shared_ptr<const KeyedRules> rules = std::make_shared<KeyedRules>();
  bool has_section = false;  // the file says something of keys
  std::string summary = "100 requests in 1 s for every key";
};
// Of the file; the defaults where there is none, or no section. shares: SharesKeys. A section of `running` must not be
// missing: a file that was emptied, or written as far as its first lines, would lift everybody's limits.
Result<KeyedRulesRead> ReadKeyedRules(const std::string& config_file, bool shares = false,
                                      const KeyedRulesRead* running = nullptr);
// The section itself.
void ReadKeyedSection(const YamlValue& section, bool shares, KeyedRulesRead* read);

}  // namespace weir
