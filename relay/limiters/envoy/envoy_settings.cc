#include "relay/limiters/envoy/envoy_settings.h"

namespace weir {

void Declare(SettingTable& table, EnvoySettings& s) {
  table.Add("RATELIMIT_CONFIG", &s.rules_directory,
            "directory with the configuration files of envoyproxy/ratelimit (*.yaml), read again when they change; not "
            "set: Envoy's rate limits are not served");
  table.Add<ServedEnvoyApi>(
      "RATELIMIT_API", &s.api,
      {{"off", ServedEnvoyApi::kOff}, {"admins", ServedEnvoyApi::kAdmins}, {"all", ServedEnvoyApi::kAll}},
      "access to Envoy's rate limits on this port: off, admins (administrators only) or all; the default of `weir "
      "gate` is all");
  table.Add("RATELIMIT_SHADOW", &s.shadow, "whether Envoy's rate limits only count and refuse nothing");
  table.Add("RATELIMIT_RESPONSE_HEADERS", &s.response_headers,
            "whether Envoy is told to add RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset to responses");
  table.Add("RATELIMIT_MAX_MIB", &s.max_mib, {.min = 1, .max = 1 << 20, .unit = "MiB"},
            "memory for descriptors in their current window; each takes its own bytes and about 110 more. Without "
            "room, some are counted together");
  table.Add("RATELIMIT_SHARDS", &s.shards, {.min = 1, .max = 1024}, "parts into which the descriptors are spread");
}

}  // namespace weir
