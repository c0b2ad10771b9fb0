// Settings of Envoy's rate limits, from the environment. The limits themselves are in files (envoy_rules.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "config/settings.h"

namespace weir {

// The clients that may use Envoy's rate limits.
enum class ServedEnvoyApi : uint8_t { kOff, kAdmins, kAll };

struct EnvoySettings {
  std::string rules_directory;                // empty: Envoy's rate limits are not served
  ServedEnvoyApi api = ServedEnvoyApi::kOff;  // the default of a relay; that of `weir gate` is kAll
  // True: only administrators may use /debug/ratelimit, whatever `api` is. Not a setting: a relay has true, `weir gate`
  // false.
  bool debug_for_admins = true;
  bool shadow = false;            // hits are counted, and no limit refuses a request
  bool response_headers = false;  // see EnvoyApi's constructor
  uint64_t max_mib = 256;         // memory for the values that are counted
  uint64_t shards = 25;
  std::chrono::milliseconds watch_interval{900};  // not a setting: time between two checks whether the files changed
};
void Declare(SettingTable& table, EnvoySettings& settings);

}  // namespace weir
