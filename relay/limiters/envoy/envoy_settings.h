// Settings of Envoy's rate limits, besides the files (envoy_rules.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "config/settings.h"

namespace weir {

// The clients that may ask.
enum class ServedEnvoyApi : uint8_t { kOff, kAdmins, kAll };

struct EnvoySettings {
  std::string rules_directory;                // empty: nothing is served
  ServedEnvoyApi api = ServedEnvoyApi::kOff;  // on the relay's port; `weir gate` serves all
  bool debug_for_admins = true;               // no setting: a relay's port is open to everybody, but not /debug
  bool shadow = false;
  bool response_headers = false;
  uint64_t max_mib = 256;
  uint64_t shards = 25;
  std::chrono::milliseconds watch_interval{900};  // no setting: the same as that of the quotas
};
void Declare(SettingTable& table, EnvoySettings& settings);

}  // namespace weir
