// What an operator can set about the quotas, in the environment. Where the configuration file says something about the
// same, the file counts.
#pragma once

#include <chrono>
#include <string>

#include "config/settings.h"
#include "config/status.h"
#include "relay/gate/count_tokens.h"
#include "relay/gate/quota_api.h"
#include "throttle/quota/open_store.h"
#include "throttle/quota/quota_limiter.h"

namespace weir {

// Who may use /v1.
enum class ServedQuotaApi : uint8_t { kOff, kAdmins, kAll };

struct GateSettings {
  QuotaStoreSettings store;
  std::string config_file;                       // WEIR_CONFIG
  ServedQuotaApi api = ServedQuotaApi::kAdmins;  // the relay's; `weir gate` serves all
  RateLimitDialect dialect = RateLimitDialect::kIetf;
  bool quota_shadow = false;
  WhenStoreAway when_store_away = WhenStoreAway::kRefuse;
  // No settings: how often the configuration file is looked at, and what no longer counts is forgotten.
  std::chrono::milliseconds watch_interval{2000};
  std::chrono::milliseconds upkeep_interval{10000};
};
void Declare(SettingTable& table, GateSettings& settings);

// Of `weir gate`; the relay has its own token, in its data directory.
struct GateAdminSettings {
  std::string admin_token;  // empty: nobody's
};
void Declare(SettingTable& table, GateAdminSettings& settings);

// Of `weir quota`.
struct QuotaClientSettings {
  std::string gate;     // WEIR_GATE; empty: on this machine, on WEIR_PORT
  std::string api_key;  // WEIR_QUOTA_API_KEY
};
void Declare(SettingTable& table, QuotaClientSettings& settings);

// All about the quotas: one environment may be for `weir gate`, for `weir quota` and for a relay.
struct AllQuotaSettings {
  GateSettings gate;
  GateAdminSettings admin;
  QuotaClientSettings client;
  CountTokensSettings count_tokens;
};
void Declare(SettingTable& table, AllQuotaSettings& settings);

// What the settings and the configuration file say; with the four providers' profiles where they name none.
// `has_section`: whether the file says anything of quotas. The warnings are for the log.
Result<QuotaConfig> ReadGateConfig(const GateSettings& settings, bool* has_section = nullptr,
                                   std::vector<std::string>* warnings = nullptr);

}  // namespace weir
