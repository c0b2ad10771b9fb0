// The settings of all limiters, and the functions that make and open the limiters.
#pragma once

#include <memory>
#include <vector>

#include "config/settings.h"
#include "config/status.h"
#include "relay/limiters/envoy/envoy_settings.h"
#include "relay/limiters/keyed/keyed_settings.h"
#include "relay/limiters/queued/queued_settings.h"
#include "relay/limiters/quota/quota_settings.h"
#include "relay/limiters/served_limiter.h"

namespace weir {

struct ServedLimiterSettings {
  QuotaSettings quota;
  // These two have sections in the configuration file that quota.config_file names (weir.yaml).
  KeyedSettings keyed;
  QueuedSettings queued;
  EnvoySettings envoy;
};
void Declare(SettingTable& table, ServedLimiterSettings& settings);

// Checks the names of the stores, and reads all configuration files. Returns the errors that it finds. Opens no store.
std::vector<Status> Check(const ServedLimiterSettings& settings);

// The limiter settings of `weir gate`, `weir quota` and a relay together: the three programs may run with the same
// environment, so each of them accepts the settings of the others.
struct AllLimiterSettings {
  ServedLimiterSettings limiters;
  QuotaAdminSettings admin;
  QuotaClientSettings client;
  CountTokensSettings count_tokens;
};
void Declare(SettingTable& table, AllLimiterSettings& settings);

using ServedLimiters = std::vector<std::unique_ptr<ServedLimiter>>;
// Makes the limiters that the settings do not turn off. They are not open yet.
ServedLimiters MakeLimiters(const ServedLimiterSettings& settings);
// Opens the limiters one after the other. If one cannot be opened, returns its error; then the limiters before it are
// open, and those after it are not. `tracer` may be null.
Status OpenAll(const ServedLimiters& limiters, Tracer* tracer);

}  // namespace weir
