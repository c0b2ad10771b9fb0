// The settings of the limiters, and the limiters that they ask for.
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
  // keyed and queued have their sections in the quotas' configuration file.
  KeyedSettings keyed;
  QueuedSettings queued;
  EnvoySettings envoy;
};
void Declare(SettingTable& table, ServedLimiterSettings& settings);

// Returns the errors in the names of stores, and in the configuration files; opens no store.
std::vector<Status> Check(const ServedLimiterSettings& settings);

// The settings of `weir gate`, `weir quota` and a relay, which may all have one environment.
struct AllLimiterSettings {
  ServedLimiterSettings limiters;
  QuotaAdminSettings admin;
  QuotaClientSettings client;
  CountTokensSettings count_tokens;
};
void Declare(SettingTable& table, AllLimiterSettings& settings);

// The limiters that are not off.
using ServedLimiters = std::vector<std::unique_ptr<ServedLimiter>>;
ServedLimiters MakeLimiters(const ServedLimiterSettings& settings);
// Returns the first error; the limiters before it are open then. The tracer may be null.
Status OpenAll(const ServedLimiters& limiters, Tracer* tracer);

}  // namespace weir
