#include "relay/limiters/envoy/envoy_settings.h"

namespace weir {

void Declare(SettingTable& table, EnvoySettings& s) {
  table.Add("RATELIMIT_CONFIG", &s.rules_directory,
            "directory with the configuration files of envoyproxy/ratelimit (*.yaml), read again when they change; not "
            "set: Envoy's rate limits are not served");
  table.Add<ServedEnvoyApi>(
      "RATELIMIT_API", &s.api,
      {{"off", ServedEnvoyApi::kOff}, {"admins", ServedEnvoyApi::kAdmins}, {"all", ServedEnvoyApi::kAll}},
      "who may ask for Envoy's rate limits on this port: nobody, administrators, or everybody, which is the default of "
      "`weir gate`");
  table.Add("RATELIMIT_SHADOW", &s.shadow, "whether Envoy's rate limits are counted, and nothing is refused");
  table.Add("RATELIMIT_RESPONSE_HEADERS", &s.response_headers,
            "whether Envoy is told to add RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset to responses");
  table.Add("RATELIMIT_MAX_MIB", &s.max_mib, {.min = 1, .max = 1 << 20, .unit = "MiB"},
            "memory for descriptors whose window runs, about 110 bytes each beside their own; beyond that some count "
            "together");
  table.Add("RATELIMIT_SHARDS", &s.shards, {.min = 1, .max = 1024}, "parts into which the descriptors are spread");
}

}  // namespace weir
