// What an operator can set about Envoy's rate limits, beside the files (envoy_rules.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "config/settings.h"

namespace weir {

// Who may ask.
enum class ServedEnvoyApi : uint8_t { kOff, kAdmins, kAll };

struct EnvoySettings {
  std::string rules_directory;                // none: nothing is served
  ServedEnvoyApi api = ServedEnvoyApi::kOff;  // the relay's; `weir gate` serves all
  bool debug_for_admins = true;               // no setting: /debug on a relay's port, open to everybody
  bool shadow = false;
  bool response_headers = false;
  uint64_t max_mib = 256;
  uint64_t shards = 25;
  std::chrono::milliseconds watch_interval{900};  // no setting: as that of the quotas
};
void Declare(SettingTable& table, EnvoySettings& settings);

}  // namespace weir
