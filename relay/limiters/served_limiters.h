// The settings of all limiters, and the limiters that are made from them.
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
  // The configuration file of the quotas (weir.yaml) has the sections of `keyed` and `queued` too.
  KeyedSettings keyed;
  QueuedSettings queued;
  EnvoySettings envoy;
};
void Declare(SettingTable& table, ServedLimiterSettings& settings);

// Returns all errors in the names of stores and in the configuration files. Opens no store.
std::vector<Status> Check(const ServedLimiterSettings& settings);

// The settings that `weir gate`, `weir quota` and a relay have for limiters. All three may share one environment.
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
// Opens the limiters, one after the other. Returns the first error; then the limiters before the one that failed are
// open, and the others are not. `tracer` may be null.
Status OpenAll(const ServedLimiters& limiters, Tracer* tracer);

}  // namespace weir
