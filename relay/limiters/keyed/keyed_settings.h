// Settings of the keyed limiter: those of the environment, and the section `keyed` of weir.yaml.
//
//   keyed:
//     default: {window_millis: 1000, max_requests: 100, max_requests_in_queue: 400, window: fixed, shared: true}
//     keys:                                        # limits of single keys
//       user-123: {max_requests: 10}               # missing values are those of default
//     patterns:                                    # RE2, for the whole key; the first that matches applies
//       - {pattern: "team-[a-z]+", max_requests: 1000, window: sliding, shared: false}
//
// `shared` has an effect only if WEIR_KEYED_STORE is set: then the servers with that store share the window. Limits
// that cannot be shared must say `shared: false`.
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
  ServedKeyedApi api = ServedKeyedApi::kOff;  // the default of a relay; that of `weir gate` is kAll
  bool debug_for_admins = true;               // no setting: true on a relay, whose port is open to every client
  std::string store = "memory";               // or the address of a Redis, whose clients share the windows
  WhenAway when_store_away = WhenAway::kAlone;
  // These two are settings of the quotas; both limiters may use the same Redis.
  std::string redis_prefix = "weir";
  RedisClientOptions redis;
  bool overrides = false;  // requests may set the limits of their key
  uint64_t shards = 25;
  uint64_t max_keys = 1'000'000;
  uint64_t max_waiting = 100'000;
  std::chrono::milliseconds watch_interval{900};  // no setting: time between two looks at the file
};
void Declare(SettingTable& table, KeyedSettings& settings);
// Returns an error if `store` is neither "memory" nor the address of a Redis.
Status CheckKeyedStoreName(const std::string& store);
// Returns true if a store shares the windows among several servers.
inline bool SharesKeys(const KeyedSettings& settings) { return settings.store != "memory"; }

struct KeyedRulesRead {
  std::shared_ptr<const KeyedRules> rules = std::make_shared<KeyedRules>();
  bool has_section = false;  // the file has the section `keyed`
  std::string summary = "100 requests in 1 s for every key";
};
// Reads the rules of the file. If `config_file` is empty or the file has no section `keyed`, returns the default rules.
// `shares` is SharesKeys. `running` has the rules in use, or is null. If they come from a section, a file without one
// is an error: a file that was emptied, or is only written in part so far, would lift all limits.
Result<KeyedRulesRead> ReadKeyedRules(const std::string& config_file, bool shares = false,
                                      const KeyedRulesRead* running = nullptr);
// Reads the section `keyed` into *read. Reports what is wrong with it as errors of `section`.
void ReadKeyedSection(const YamlValue& section, bool shares, KeyedRulesRead* read);

}  // namespace weir
