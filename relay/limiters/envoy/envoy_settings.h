// Settings of Envoy's rate limits in the environment. The limits themselves are in files (envoy_rules.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "config/settings.h"

namespace weir {

// The clients that may ask for Envoy's rate limits.
enum class ServedEnvoyApi : uint8_t { kOff, kAdmins, kAll };

struct EnvoySettings {
  std::string rules_directory;                // empty: Envoy's rate limits are not served
  ServedEnvoyApi api = ServedEnvoyApi::kOff;  // the default of a relay; that of `weir gate` is kAll
  bool debug_for_admins = true;               // no setting: true on a relay, whose port is open to every client
  bool shadow = false;                        // limits are counted, and no request is refused
  bool response_headers = false;              // see EnvoyApi
  uint64_t max_mib = 256;                     // memory for the values that are counted
  uint64_t shards = 25;
  std::chrono::milliseconds watch_interval{900};  // no setting: time between two looks at the files
};
void Declare(SettingTable& table, EnvoySettings& settings);

}  // namespace weir
