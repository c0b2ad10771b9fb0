// Settings of the quotas, from the environment. If the configuration file has the same setting, the file's value
// applies.
#pragma once

#include <chrono>
#include <string>

#include "config/settings.h"
#include "config/status.h"
#include "relay/limiters/quota/count_tokens.h"
#include "relay/limiters/quota/quota_api.h"
#include "throttle/limits/quota/open_store.h"
#include "throttle/limits/quota/quota_limiter.h"

namespace weir {

// The clients that may use /v1 and the gRPC service. Some calls are only for administrators, whatever this is.
enum class ServedQuotaApi : uint8_t { kOff, kAdmins, kAll };

struct QuotaSettings {
  QuotaStoreSettings store;
  std::string config_file;                       // WEIR_CONFIG
  ServedQuotaApi api = ServedQuotaApi::kAdmins;  // the default of a relay; that of `weir gate` is kAll
  RateLimitDialect dialect = RateLimitDialect::kIetf;
  bool quota_shadow = false;  // shadow mode: requests are decided and counted, but no limit or denial refuses one
  WhenStoreAway when_store_away = WhenStoreAway::kRefuse;
  // The next two are not settings of the environment. `watch_interval` is the time between two checks of the
  // configuration file, and between two calls of QuotaLimiter::StateQuotas. A changed file is read at the first check
  // that finds it unchanged since the check before, so within two seconds after the change. `upkeep_interval` is the
  // time between two calls of QuotaStore::Prune.
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

// The result of a reading of the quotas' configuration (followed_rules.h).
struct QuotaRulesRead {
  QuotaConfig config;
  bool has_section = false;           // true if the file has the section `quota`
  std::vector<std::string> warnings;  // for the log
  std::string summary;                // describes the configuration in the log
};
// Returns the configuration that the settings and the configuration file make together. If the file names no providers,
// the configuration has the profiles of all four providers, unless the file turns profiles off. Returns an error if the
// file is wrong, or if the store cannot count the limits of the file. `running` is the result that is in use, or null.
// If running->has_section is true, a file without the section `quota` is an error: the file may have been emptied or be
// half written, and its use would remove all quotas.
Result<QuotaRulesRead> ReadQuotaRules(const QuotaSettings& settings, const QuotaRulesRead* running = nullptr);

}  // namespace weir
