#include "relay/limiters/quota/quota_settings.h"

#include "relay/limiters/config_file.h"
#include "throttle/limits/quota/quota_config_reader.h"

namespace weir {
namespace {

std::string DescribeConfig(const QuotaConfig& config) {
  std::string text = config.providers.empty() ? "no profiles" : "profiles of ";
  for (const Provider provider : config.providers)
    text += std::string(text.ends_with(' ') ? "" : ", ") + std::string(NameOf(provider));
  text += "; " + std::to_string(config.quotas.size()) + " models with quotas of their own; unknown models are " +
          (config.unknown_models == UnknownModels::kAllow ? "allowed" : "refused");
  text += config.when_store_away == WhenStoreAway::kAllow ? "; while the store is away, all requests are allowed"
                                                          : "; while the store is away, all requests are refused";
  if (config.shadow) text += "; shadow mode: nothing is refused";
  return text;
}

}  // namespace

void Declare(SettingTable& table, QuotaSettings& s) {
  Declare(table, s.store);
  table.Add(
      "CONFIG", &s.config_file,
      "path of weir.yaml: rules of the relay, quotas of models, tiers and policies, limits of keys, endpoints; read "
      "again when it changes. If it and another setting differ, weir.yaml applies");
  table.Add<ServedQuotaApi>(
      "QUOTA_API", &s.api,
      {{"off", ServedQuotaApi::kOff}, {"admins", ServedQuotaApi::kAdmins}, {"all", ServedQuotaApi::kAll}},
      "access to /v1 on this port (asking for and spending quotas): off, admins (administrators only) or all; the "
      "default of `weir gate` is all");
  table.Add<RateLimitDialect>("RATELIMIT_DIALECT", &s.dialect,
                              {{"ietf", RateLimitDialect::kIetf},
                               {"openai", RateLimitDialect::kOpenAi},
                               {"anthropic", RateLimitDialect::kAnthropic}},
                              "form of the header fields in which answers tell what is left of the limits");
  table.Add("QUOTA_SHADOW", &s.quota_shadow,
            "whether quotas only count and refuse nothing; applies if WEIR_CONFIG does not set it");
  table.Add<WhenStoreAway>("QUOTA_WHEN_STORE_AWAY", &s.when_store_away,
                           {{"refuse", WhenStoreAway::kRefuse}, {"allow", WhenStoreAway::kAllow}},
                           "what happens to requests while the quota store does not answer; applies if WEIR_CONFIG "
                           "does not set it");
}

void Declare(SettingTable& table, QuotaAdminSettings& s) {
  table.AddSecret("ADMIN_TOKEN", &s.admin_token,
                  "secret that administrators send to `weir gate` (Authorization: Bearer …); `weir quota` and `weir "
                  "import --relay` send it too. Not set: quotas and state of a gate cannot be changed, except with "
                  "WEIR_ADMIN_FROM_LOOPBACK=true");
}

void Declare(SettingTable& table, QuotaClientSettings& s) {
  table.Add("GATE", &s.gate,
            "the gate that `weir quota` asks, such as http://127.0.0.1:3335; not set: `weir quota` opens the store of "
            "WEIR_QUOTA_STORE; if that is memory, it asks the gate on WEIR_PORT of this machine");
  table.AddSecret("QUOTA_API_KEY", &s.api_key, "the API key that `weir quota` uses if --api-key is not given");
}

Result<QuotaRulesRead> ReadQuotaRules(const QuotaSettings& settings, const QuotaRulesRead* running) {
  QuotaRulesRead read;
  QuotaConfig& config = read.config;
  config.shadow = settings.quota_shadow;
  config.when_store_away = settings.when_store_away;
  if (!settings.config_file.empty()) {
    const Status status = ReadConfigSection(settings.config_file, "quota", [&](const YamlValue& section) {
      read.has_section = true;
      ReadQuotaSection(section, &config, &read.warnings);
    });
    if (!status.ok()) return status;
  }
  if (running != nullptr && running->has_section && !read.has_section)
    return Status::Error(settings.config_file + " has no quota: any more; write `quota: {}` if no quota is to apply");
  const bool on_cluster =
      settings.store.store.starts_with("redis-cluster:") || settings.store.store.starts_with("rediss-cluster:");
  if (on_cluster && CountsAcrossModels(config))
    return Status::Error(settings.config_file +
                         ": a limit under \"*\" says total: true, or under users, and a Redis cluster keeps each model "
                         "in a place of its own; state totals for each model, or use one Redis with sentinels");
  config.withdraws_others = read.has_section;
  if (config.providers.empty() && !config.no_profiles)
    config.providers = {Provider::kGemini, Provider::kOpenAi, Provider::kAnthropic, Provider::kLocal};
  read.summary = DescribeConfig(config);
  return read;
}

}  // namespace weir
