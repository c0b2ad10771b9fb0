#include "relay/limiters/served_limiters.h"

#include "relay/limiters/envoy/envoy_rules.h"
#include "relay/limiters/envoy/envoy_service.h"
#include "relay/limiters/keyed/keyed_service.h"
#include "relay/limiters/queued/queued_service.h"
#include "relay/limiters/quota/quota_service.h"

namespace weir {
namespace {

KeyedSettings WithRedisOf(const QuotaStoreSettings& store, KeyedSettings keyed) {
  keyed.redis_prefix = store.redis_prefix;
  keyed.redis = RedisClientOf(store);
  return keyed;
}

}  // namespace

void Declare(SettingTable& table, ServedLimiterSettings& s) {
  Declare(table, s.quota);
  Declare(table, s.keyed);
  Declare(table, s.queued);
  Declare(table, s.envoy);
}

std::vector<Status> Check(const ServedLimiterSettings& s) {
  std::vector<Status> wrong;
  const auto add = [&wrong](const Status& status) {
    if (!status.ok()) wrong.push_back(status);
  };
  add(CheckQuotaStoreName(s.quota.store.store));
  add(ReadQuotaRules(s.quota).status());
  add(CheckKeyedStoreName(s.keyed.store));
  add(ReadKeyedRules(s.quota.config_file, SharesKeys(s.keyed)).status());
  add(ReadQueuedRules(s.quota.config_file).status());
  if (!s.envoy.rules_directory.empty()) add(ReadEnvoyRules(s.envoy.rules_directory).status());
  return wrong;
}

void Declare(SettingTable& table, AllLimiterSettings& s) {
  Declare(table, s.limiters);
  Declare(table, s.admin);
  Declare(table, s.client);
  Declare(table, s.count_tokens);
}

ServedLimiters MakeLimiters(const ServedLimiterSettings& settings) {
  ServedLimiters limiters;
  if (settings.quota.api != ServedQuotaApi::kOff) limiters.push_back(std::make_unique<QuotaService>(settings.quota));
  if (settings.keyed.api != ServedKeyedApi::kOff)
    limiters.push_back(
        std::make_unique<KeyedService>(WithRedisOf(settings.quota.store, settings.keyed), settings.quota.config_file));
  if (settings.queued.api != ServedQueuedApi::kOff)
    limiters.push_back(std::make_unique<QueuedService>(settings.queued, settings.quota.config_file));
  if (settings.envoy.api != ServedEnvoyApi::kOff && !settings.envoy.rules_directory.empty())
    limiters.push_back(std::make_unique<EnvoyService>(settings.envoy));
  return limiters;
}

Status OpenAll(const ServedLimiters& limiters, Tracer* tracer) {
  for (const auto& limiter : limiters)
    if (Status status = limiter->Open(tracer); !status.ok()) return status;
  return Status();
}

}  // namespace weir
