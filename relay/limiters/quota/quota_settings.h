// Settings of the quotas in the environment. If the configuration file says something about the same, the file counts.
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
  ServedQuotaApi api = ServedQuotaApi::kAdmins;  // on the relay's port; `weir gate` serves all
  RateLimitDialect dialect = RateLimitDialect::kIetf;
  bool quota_shadow = false;
  WhenStoreAway when_store_away = WhenStoreAway::kRefuse;
  // No settings: how often the configuration file is looked at, and how often counts that are over are forgotten.
  // A file is read at the second look that finds it changed and at rest: within two seconds.
  std::chrono::milliseconds watch_interval{900};
  std::chrono::milliseconds upkeep_interval{10000};
};
void Declare(SettingTable& table, QuotaSettings& settings);

// Settings of `weir gate`; the relay has its own token, in its data directory.
struct QuotaAdminSettings {
  std::string admin_token;  // empty: there is no token
};
void Declare(SettingTable& table, QuotaAdminSettings& settings);

// Settings of `weir quota`.
struct QuotaClientSettings {
  std::string gate;     // WEIR_GATE; empty: the one on this machine, on WEIR_PORT
  std::string api_key;  // WEIR_QUOTA_API_KEY
};
void Declare(SettingTable& table, QuotaClientSettings& settings);

// Returns the configuration by the settings and the file; with the four providers' profiles if they name none. Sets
// *has_section if the file has a section of quotas. The warnings are for the log.
Result<QuotaConfig> ReadQuotaConfig(const QuotaSettings& settings, bool* has_section = nullptr,
                                    std::vector<std::string>* warnings = nullptr);

}  // namespace weir
