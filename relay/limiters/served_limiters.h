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
  // The file that quota.config_file names (weir.yaml) also has the sections of the next two.
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
// Makes the limiters that the settings turn on; for Envoy's rate limits, they must also name a directory of rules. The
// limiters are not open yet.
ServedLimiters MakeLimiters(const ServedLimiterSettings& settings);
// Opens the limiters one after the other. If one cannot be opened, returns its error; then the limiters before it are
// open, and those after it are not. `tracer` is as in ServedLimiter::Open.
Status OpenAll(const ServedLimiters& limiters, Tracer* tracer);

}  // namespace weir
