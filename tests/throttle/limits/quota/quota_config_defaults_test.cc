// Defaults of a configuration: limits, providers, the tenant of a request.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "throttle/limits/quota/memory_store.h"
#include "throttle/limits/quota/quota_config_reader.h"

namespace weir {
namespace {

using Strings = std::vector<std::string>;

Status ReadText(std::string_view text, QuotaConfig* config, Strings* warnings = nullptr) {
  return ReadYaml(text, "w.yaml", [&](YamlMap& root) { ReadQuotaSection(root.Required("quota"), config, warnings); });
}

Strings WarningsOf(const std::string& models) {
  QuotaConfig config;
  Strings warnings;
  const Status status = ReadText("quota:\n  models: " + models + "\n", &config, &warnings);
  return status.ok() ? warnings : Strings{status.message()};
}

TEST(QuotaConfigReader, WarnsOfLimitsThatAProfileHasAndAQuotaDoesNotState) {
  EXPECT_EQ(WarningsOf("{gpt-4o: {max_rpm: 100}}"),
            Strings{"gpt-4o: max_tpm is not stated, and so there is no such limit; the profile of openai has 30000"});
  EXPECT_EQ(WarningsOf("{gpt-4o: {}}").size(), 2U);
  EXPECT_EQ(WarningsOf("{gpt-4o: {max_rpm: 100, max_tpm: 0}}"), Strings{}) << "said is said";
  EXPECT_EQ(WarningsOf("{of-nobody: {max_rpm: 100}}"), Strings{});
  QuotaConfig config;
  ASSERT_TRUE(ReadText("quota: {models: {gpt-4o: {max_rpm: 100}}}", &config).ok());
  EXPECT_EQ(config.quotas.at("gpt-4o"), ModelQuota{.max_rpm = 100});
}

TEST(QuotaConfigReader, WarnsOfMoneyThatIsLimitedAndNotCounted) {
  const auto warnings_of = [](const std::string& prices) {
    QuotaConfig config;
    Strings warnings;
    const std::string users = "tiers: {users: {\"*\": [{money: 5, per: day}]}}";
    EXPECT_EQ(ReadText("quota: {prices: " + prices + ", " + users + "}", &config, &warnings).message(), "");
    return warnings;
  };
  const Strings warned{
      "there are limits of money, and prices has no \"*\": a model that is not named there costs nothing"};
  EXPECT_EQ(warnings_of("{}"), warned);
  EXPECT_EQ(warnings_of("{gpt-4o: {input: 1, output: 2}}"), warned);
  EXPECT_EQ(warnings_of("{\"*\": {input: 1, output: 2}}"), Strings{});
}

TEST(QuotaConfigReader, AnEmptyListMeansNoProviders) {
  const auto knows = [](const std::string& section, std::string_view model) {
    QuotaConfig config;
    EXPECT_EQ(ReadText("quota: " + section, &config).message(), "");
    MemoryQuotaStore store;
    QuotaLimiter limiter(store, config);
    return limiter.Decide({.model = model}).quota.has_value();
  };
  EXPECT_TRUE(knows("{}", "gemini-2.5-pro"));
  EXPECT_FALSE(knows("{providers: []}", "gemini-2.5-pro"));
  EXPECT_TRUE(knows("{providers: [openai]}", "gpt-4o"));
  EXPECT_TRUE(knows("{providers: [], models: {mine: {max_rpm: 1}}}", "mine"));
}

TEST(QuotaConfigReader, AProviderAddedToAnEmptyListIsTheOnlyOne) {
  MemoryQuotaStore store;
  QuotaLimiter limiter(store, {.no_profiles = true});
  limiter.AddProvider(Provider::kOpenAi);
  EXPECT_TRUE(limiter.Decide({.model = "gpt-4o"}).quota);
  EXPECT_FALSE(limiter.Decide({.model = "gemini-2.5-pro"}).quota);
}

constexpr std::string_view kTenants = R"(quota:
  tiers:
    tenants:
      acme: {"*": [{requests: 7, per: 3600}]}
      other: {"*": [{requests: 8, per: 3600}]}
    api_keys:
      sk-1: {tenant: acme}
      sk-2: {tenant: acme, m: [{requests: 9, per: 3600}]}
      sk-3: {m: [{requests: 10, per: 3600}]}
)";

// Returns the key and the amount of the user_model limit, or "none".
std::string MetBy(const TierRulesConfig& tiers, const Requester& requester) {
  const TierRules rules(tiers);
  TierPlan plan;
  EXPECT_TRUE(rules.MakePlan("m", requester, &plan).ok());
  if (plan.charges().empty()) return "none";
  return std::string(plan.charges()[0].key) + " " + std::to_string(plan.charges()[0].limit.amount);
}

TEST(QuotaConfigReader, ARequestIsOfItsKeysTenant) {
  QuotaConfig config;
  ASSERT_EQ(ReadText(kTenants, &config).message(), "");
  EXPECT_TRUE(CheckQuotaConfig(config).ok());
  const TierRulesConfig& tiers = config.tiers;
  EXPECT_EQ(MetBy(tiers, {.api_key = "sk-1"}), "key:sk-1 7");
  EXPECT_EQ(MetBy(tiers, {.user = "u", .api_key = "sk-1"}), "tenant:acme:user:u 7");
  EXPECT_EQ(MetBy(tiers, {.api_key = "sk-2"}), "key:sk-2 9") << "the key's own come before its tenant's";
  EXPECT_EQ(MetBy(tiers, {.tenant = "other", .api_key = "sk-1"}), "key:sk-1 7") << "whatever it names";
  EXPECT_EQ(MetBy(tiers, {.user = "u", .api_key = "sk-3"}), "user:u 10");
  EXPECT_EQ(MetBy(tiers, {.api_key = "sk-4"}), "none");
}

TEST(QuotaConfigReader, ATenantOfAKeyMustBeAName) {
  for (const char* tenant : {"[a]", "\"\"", "\"a\\tb\"", "{a: b}"}) {
    QuotaConfig config;
    const std::string error =
        ReadText("quota: {tiers: {api_keys: {sk-SECRET: {tenant: " + std::string(tenant) + "}}}}", &config).message();
    EXPECT_NE(error.find("tenant"), error.npos) << tenant << ": " << error;
    EXPECT_EQ(error.find("SECRET"), error.npos) << error;
  }
  TierRulesConfig wrong;
  wrong.api_key_tenants = {{"sk-1", "a\nb"}};
  EXPECT_FALSE(CheckTierRules(wrong).ok());
}

}  // namespace
}  // namespace weir
