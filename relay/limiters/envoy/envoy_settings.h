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
  bool debug_for_admins = true;               // not a setting; `weir gate` sets false: every client may use /debug
  bool shadow = false;                        // limits are counted, and no request is refused
  bool response_headers = false;              // see EnvoyApi's constructor
  uint64_t max_mib = 256;                     // memory for the values that are counted
  uint64_t shards = 25;
  std::chrono::milliseconds watch_interval{900};  // not a setting: time between two checks whether the files changed
};
void Declare(SettingTable& table, EnvoySettings& settings);

}  // namespace weir
