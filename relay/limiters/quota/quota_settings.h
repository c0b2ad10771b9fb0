// What an operator can set about the quotas, in the environment. Where the configuration file says something about the
// same, the file counts.
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

// Who may use /v1.
enum class ServedQuotaApi : uint8_t { kOff, kAdmins, kAll };

struct QuotaSettings {
  QuotaStoreSettings store;
  std::string config_file;                       // WEIR_CONFIG
  ServedQuotaApi api = ServedQuotaApi::kAdmins;  // the relay's; `weir gate` serves all
  RateLimitDialect dialect = RateLimitDialect::kIetf;
  bool quota_shadow = false;
  WhenStoreAway when_store_away = WhenStoreAway::kRefuse;
  // No settings: how often the configuration file is looked at, and what no longer counts is forgotten.
  // A file is read at the second look that finds it changed and at rest: within two seconds.
  std::chrono::milliseconds watch_interval{900};
  std::chrono::milliseconds upkeep_interval{10000};
};
void Declare(SettingTable& table, QuotaSettings& settings);

// Of `weir gate`; the relay has its own token, in its data directory.
struct QuotaAdminSettings {
  std::string admin_token;  // empty: nobody's
};
void Declare(SettingTable& table, QuotaAdminSettings& settings);

// Of `weir quota`.
struct QuotaClientSettings {
  std::string gate;     // WEIR_GATE; empty: on this machine, on WEIR_PORT
  std::string api_key;  // WEIR_QUOTA_API_KEY
};
void Declare(SettingTable& table, QuotaClientSettings& settings);

// What the settings and the configuration file say; with the four providers' profiles where they name none.
// `has_section`: whether the file says anything of quotas. The warnings are for the log.
Result<QuotaConfig> ReadQuotaConfig(const QuotaSettings& settings, bool* has_section = nullptr,
                                    std::vector<std::string>* warnings = nullptr);

}  // namespace weir
