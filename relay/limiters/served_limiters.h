// What an operator can set about the limiters, and the limiters that the settings ask for.
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
  // Their sections are in the file that is the quotas' too.
  KeyedSettings keyed;
  QueuedSettings queued;
  EnvoySettings envoy;
};
void Declare(SettingTable& table, ServedLimiterSettings& settings);

// What is wrong with the names of stores, and with the files that they name; nothing is opened to be used.
std::vector<Status> Check(const ServedLimiterSettings& settings);

// Of `weir gate`, `weir quota` and a relay: one environment may be for all.
struct AllLimiterSettings {
  ServedLimiterSettings limiters;
  QuotaAdminSettings admin;
  QuotaClientSettings client;
  CountTokensSettings count_tokens;
};
void Declare(SettingTable& table, AllLimiterSettings& settings);

// Those that are served to anybody.
using ServedLimiters = std::vector<std::unique_ptr<ServedLimiter>>;
ServedLimiters MakeLimiters(const ServedLimiterSettings& settings);
// The first error; those before it are open. The tracer may be null.
Status OpenAll(const ServedLimiters& limiters, Tracer* tracer);

}  // namespace weir
