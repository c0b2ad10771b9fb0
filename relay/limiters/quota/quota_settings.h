// Settings of the quotas in the environment. If the configuration file has the same setting, the file's value applies.
#pragma once

#include <chrono>
#include <string>

#include "config/settings.h"
#include "config/status.h"
#include "relay/limiters/quota/count_tokens.h"
#include "relay/limiters/quota/quota_api.h"
#include "throttle/quota/open_store.h"
#include "throttle/quota/quota_limiter.h"

namespace weir {

// The clients that may use /v1.
enum class ServedQuotaApi : uint8_t { kOff, kAdmins, kAll };

struct QuotaSettings {
  QuotaStoreSettings store;
  std::string config_file;                       // WEIR_CONFIG
  ServedQuotaApi api = ServedQuotaApi::kAdmins;  // the default of a relay; that of `weir gate` is kAll
  RateLimitDialect dialect = RateLimitDialect::kIetf;
  bool quota_shadow = false;  // requests are decided and counted, and none is refused
  WhenStoreAway when_store_away = WhenStoreAway::kRefuse;
  // These two are no settings of the environment: the time between two looks at the configuration file, and the time
  // between two prunings of old counts in the store. A file is read at the look that finds it unchanged since the look
  // before: within two seconds after the change.
  std::chrono::milliseconds watch_interval{900};
  std::chrono::milliseconds upkeep_interval{10000};
};
void Declare(SettingTable& table, QuotaSettings& settings);

// The token of administrators of `weir gate`. A relay has a token of its own, in its data directory.
struct QuotaAdminSettings {
  std::string admin_token;  // empty: there is no token
};
void Declare(SettingTable& table, QuotaAdminSettings& settings);

// Settings of `weir quota`.
struct QuotaClientSettings {
  std::string gate;     // WEIR_GATE; empty: the store of WEIR_QUOTA_STORE or, if that is memory, the gate on WEIR_PORT
  std::string api_key;  // WEIR_QUOTA_API_KEY
};
void Declare(SettingTable& table, QuotaClientSettings& settings);

// Returns the configuration that the settings and the configuration file make. If they name no providers, it has the
// profiles of all four providers, unless the file turns profiles off. Sets *has_section to whether the file has the
// section `quota`, and adds to *warnings what the log should say; both may be null. Returns an error if the file is
// wrong, or if its limits cannot be counted in the store.
Result<QuotaConfig> ReadQuotaConfig(const QuotaSettings& settings, bool* has_section = nullptr,
                                    std::vector<std::string>* warnings = nullptr);

}  // namespace weir
