// Models that the configuration forbids or counts together, and requests that name no user.
#include <gtest/gtest.h>

#include "config/manual_clock.h"
#include "config/text/rfc3339.h"
#include "throttle/limits/quota/memory_store.h"
#include "throttle/limits/quota/quota_config_reader.h"
#include "throttle/limits/quota/quota_limiter.h"

namespace weir {
namespace {

// Reads the section `quota:`. Returns the error if it is refused.
Result<QuotaConfig> Read(const std::string& yaml) {
  QuotaConfig config;
  const Status status =
      ReadYaml(yaml, "weir.yaml", [&](YamlMap& root) { ReadQuotaSection(root.Required("quota"), &config); });
  if (!status.ok()) return status;
  return config;
}

class QuotaLimiterConfigured : public testing::Test {
 protected:
  void Use(const std::string& yaml) {
    Result<QuotaConfig> config = Read(yaml);
    ASSERT_TRUE(config.ok()) << config.status().message();
    ASSERT_TRUE(CheckQuotaConfig(config.value()).ok());
    limiter_.emplace(store_, std::move(config).value(), Clock::System(), nullptr, Sleeper::System(), clock_);
  }
  Decision Take(std::string_view model, const Requester& requester = {}, int64_t tokens = 1) {
    return limiter_->Take({.model = model, .tokens = tokens, .requester = requester});
  }

  ManualWallClock clock_{WallTime(std::chrono::hours(500'000))};
  MemoryQuotaStore store_{{}, clock_};
  std::optional<QuotaLimiter> limiter_;
};

TEST_F(QuotaLimiterConfigured, DeniedRequestsAreAlwaysRefused) {
  Use(R"(
quota:
  models:
    o1-pro: {deny: true}
    gpt-4o: {max_rpm: 5}
  tiers:
    classes: [{name: old, models: [gpt-3], deny: true}]
    qos: [{name: free, priority: 3, deny: true}, {name: premium, priority: 1}]
    tenants:
      acme: {gpt-4o: {deny: true}}
      gone: {deny: true}
    api_keys:
      sk-stolen: {deny: true}
)");
  struct Case {
    std::string_view model;
    Requester requester;
    std::string_view reason;
  };
  for (const Case& c : {Case{"o1-pro", {}, "o1-pro: denied to everybody"},
                        Case{"gpt-3", {}, "gpt-3: models of the class old are denied"},
                        Case{"gpt-4o", {.qos = "free"}, "gpt-4o: denied to the QoS class free"},
                        Case{"gpt-4o", {.user = "a", .tenant = "acme"}, "gpt-4o: denied to the tenant acme"},
                        Case{"anything", {.tenant = "gone"}, "anything: denied to the tenant gone"},
                        Case{"gpt-4o", {.api_key = "sk-stolen"}, "gpt-4o: denied to this API key"}}) {
    const Decision decision = Take(c.model, c.requester);
    EXPECT_FALSE(decision.allowed) << c.reason;
    EXPECT_EQ(decision.code, QuotaCode::kDenied) << c.reason;
    EXPECT_EQ(decision.reason, std::string(c.reason) + " by the configuration; trying again is of no use");
    EXPECT_FALSE(decision.retry_after);
  }
  EXPECT_EQ(limiter_->Stats("gpt-4o").value().usage, ModelUsage());
  EXPECT_TRUE(Take("gpt-4o", {.qos = "premium"}).allowed);
  EXPECT_TRUE(Take("o1", {.tenant = "acme"}).allowed);
  const Decision recorded = limiter_->RecordUsage("o1-pro", 5, 5);
  EXPECT_TRUE(recorded.allowed) << "what was used was used";
  EXPECT_EQ(recorded.code, QuotaCode::kDenied);
  EXPECT_EQ(recorded.usage.tpm, 10);
}

TEST_F(QuotaLimiterConfigured, ShadowModeAllowsDeniedRequestsAndReportsThem) {
  Use("quota: {shadow: true, models: {o1-pro: {deny: true}}}");
  const Decision decision = limiter_->Reserve({.model = "o1-pro", .tokens = 5});
  EXPECT_TRUE(decision.allowed);
  EXPECT_TRUE(decision.shadowed);
  EXPECT_EQ(decision.code, QuotaCode::kDenied);
  EXPECT_FALSE(decision.reservation.empty());
}

TEST_F(QuotaLimiterConfigured, DatedNamesShareTheLimitOfTheirModel) {
  Use(R"(
quota:
  providers: [openai]
  models:
    gpt-4o: {max_rpm: 2, also: ["gpt-4o-2*", "chatgpt-4o-latest"]}
    "gpt-4*": {max_rpm: 1}
    gpt-4o-2024-05-13: {max_rpm: 9}
)");
  const Decision dated = Take("gpt-4o-2024-08-06");
  EXPECT_TRUE(dated.allowed);
  EXPECT_EQ(dated.counted_as, "gpt-4o");
  EXPECT_TRUE(Take("chatgpt-4o-latest").allowed);
  EXPECT_EQ(Take("gpt-4o").code, QuotaCode::kRpmExceeded);
  EXPECT_EQ(Take("gpt-4o-2024-11-20").code, QuotaCode::kRpmExceeded);

  EXPECT_TRUE(Take("gpt-4o-2024-05-13").allowed) << "an exact name comes first";
  EXPECT_EQ(Take("gpt-4o-2024-05-13").counted_as, "");
  EXPECT_EQ(Take("gpt-4o-mini").quota, (ModelQuota{.max_rpm = 500, .max_tpm = 200'000})) << "also a profile's";
  EXPECT_EQ(Take("gpt-4.5").counted_as, "gpt-4*");
  EXPECT_EQ(Take("gpt-4-0613").code, QuotaCode::kRpmExceeded) << "counted together";
  EXPECT_EQ(Take("gpt-5").code, QuotaCode::kUnknownModel);

  EXPECT_EQ(limiter_->Stats("gpt-4o-2024-08-06").value().model, "gpt-4o");
  EXPECT_EQ(limiter_->SetQuota("gpt-4o-2024-08-06", {}).message(),
            "model: gpt-4o-2024-08-06 is counted as gpt-4o; name that");
}

TEST_F(QuotaLimiterConfigured, AReservationOfADatedNameIsOfItsModel) {
  Use("quota: {models: {gpt-4o: {max_tpm: 100, also: ['gpt-4o-*']}}}");
  const Decision decision = limiter_->Reserve({.model = "gpt-4o-2024-08-06", .tokens = 50});
  EXPECT_TRUE(decision.reservation.ends_with("@gpt-4o")) << decision.reservation;
  EXPECT_EQ(limiter_->Commit(decision.reservation, 10).model, "gpt-4o");
  EXPECT_EQ(limiter_->Stats("gpt-4o").value().usage.tpm, 10);
}

TEST_F(QuotaLimiterConfigured, ATotalOfAKeyBoundsAllItsUsersAndModels) {
  Use(R"(
quota:
  tiers:
    api_keys:
      sk-abc:
        "*": [{requests: 5, per: 3600, total: true}, {requests: 2, per: 3600}]
        m: [{requests: 3, per: 3600, total: true}]
)");
  const auto take = [&](std::string_view model, std::string_view user) {
    return Take(model, {.user = user, .api_key = "sk-abc"});
  };
  for (const char* user : {"a", "b", "c"}) EXPECT_TRUE(take("m", user).allowed) << user;
  const Decision of_model = take("m", "d");
  EXPECT_EQ(of_model.code, QuotaCode::kTierExceeded);
  EXPECT_EQ(of_model.tier, Tier::kTotal);
  EXPECT_EQ(of_model.reason, "m, tier total (this API key): 3 of 3 requests in 1 h; try again in 1 h");
  EXPECT_TRUE(take("n", "a").allowed);
  EXPECT_TRUE(take("n", "a").allowed);
  const Decision of_all = take("o", "e");
  EXPECT_EQ(of_all.tier, Tier::kTotal);
  EXPECT_TRUE(Take("o", {.user = "e"}).allowed);
}

TEST_F(QuotaLimiterConfigured, ATenantsTotalHoldsThroughKeysAndBesideUserLimits) {
  Use(R"(
quota:
  tiers:
    tenants:
      acme: {"*": [{tokens: 100, per: 3600, total: true}, {requests: 2, per: 3600}]}
    api_keys:
      sk-abc: {tenant: acme}
)");
  EXPECT_TRUE(Take("m", {.user = "a", .tenant = "acme"}, 60).allowed);
  EXPECT_EQ(Take("n", {.api_key = "sk-abc"}, 50).tier, Tier::kTotal);
  EXPECT_TRUE(Take("n", {.api_key = "sk-abc"}, 40).allowed);
  EXPECT_TRUE(Take("m", {.user = "a", .tenant = "acme"}, 0).allowed);
  EXPECT_EQ(Take("m", {.user = "a", .tenant = "acme"}, 0).tier, Tier::kUserModel);
}

TEST_F(QuotaLimiterConfigured, AUsersTotalHoldsOverAllModelsBesideTenantAndKeyTotals) {
  Use(R"(
quota:
  tiers:
    users: {"*": [{tokens: 100, per: 1h}], alice: [{tokens: 500, per: 1h}]}
    tenants:
      acme: {users: {"*": [{tokens: 50, per: 1h}]}, "*": [{tokens: 80, per: 1h, total: true}]}
    api_keys:
      sk-abc: {tenant: acme, "*": [{requests: 3, per: 1h, total: true}]}
)");
  EXPECT_TRUE(CountsAcrossModels(*limiter_->config()));
  EXPECT_TRUE(Take("m", {.user = "a"}, 60).allowed);
  const Decision refused = Take("n", {.user = "a"}, 41);
  EXPECT_EQ(refused.tier, Tier::kTotal);
  EXPECT_EQ(refused.reason,
            "n, tier total (total:user:a): 60 of 100 tokens in 1 h, and 41 more asked for; try again in 1 h");
  EXPECT_TRUE(Take("n", {.user = "b"}, 100).allowed);
  EXPECT_TRUE(Take("n", {.user = "alice"}, 500).allowed);

  EXPECT_TRUE(Take("m", {.user = "a", .api_key = "sk-abc"}, 50).allowed) << "another tenant's a";
  EXPECT_EQ(Take("n", {.user = "a", .tenant = "acme"}, 1).reason,
            "n, tier total (total:tenant:acme:user:a): 50 of 50 tokens in 1 h, and 1 more asked for; try again in 1 h");
  EXPECT_EQ(Take("n", {.user = "b", .tenant = "acme"}, 31).reason,
            "n, tier total (total:tenant:acme): 50 of 80 tokens in 1 h, and 31 more asked for; try again in 1 h");
  EXPECT_TRUE(Take("n", {.user = "b", .tenant = "acme"}, 30).allowed);
  EXPECT_TRUE(Take("m", {.user = "c", .tenant = "acme"}, 0).allowed);
  EXPECT_TRUE(Take("m", {.user = "c", .api_key = "sk-abc"}, 0).allowed);
  EXPECT_TRUE(Take("m", {.user = "c", .api_key = "sk-abc"}, 0).allowed);
  EXPECT_EQ(Take("m", {.user = "d", .api_key = "sk-abc"}, 0).tier, Tier::kTotal);
}

// On 2026-10-25 the clocks in Berlin go back from 3:00 to 2:00.
TEST_F(QuotaLimiterConfigured, DaysAndMonthsFollowTheTimeZone) {
  Use(R"(
quota:
  time_zone: Europe/Berlin
  tiers:
    users: {"*": [{tokens: 100, per: day}, {tokens: 150, per: month}]}
)");
  const Requester alice{.user = "alice"};
  clock_.Set(*ParseTime("2026-10-24T22:00:00Z"));
  EXPECT_TRUE(Take("m", alice, 100).allowed);
  const Decision refused = Take("n", alice, 1);
  EXPECT_EQ(refused.retry_after, std::chrono::hours(25));
  EXPECT_EQ(refused.reason,
            "n, tier total (total:user:alice): 100 of 100 tokens in a calendar day, and 1 more asked for; try again in "
            "25 h");
  clock_.Advance(std::chrono::hours(25) - Duration(1));
  EXPECT_FALSE(Take("n", alice, 1).allowed);
  clock_.Advance(Duration(1));
  EXPECT_TRUE(Take("n", alice, 50).allowed);
  clock_.Advance(std::chrono::hours(24));
  const Decision of_month = Take("n", alice, 1);
  EXPECT_EQ(of_month.retry_after, std::chrono::hours(5 * 24));
  EXPECT_EQ(of_month.tiers.at(1).remaining, 0);
  clock_.Set(*ParseTime("2026-10-31T23:00:00Z"));
  EXPECT_TRUE(Take("n", alice, 100).allowed);
  clock_.Advance(-std::chrono::minutes(5));
  EXPECT_FALSE(Take("n", alice, 1).allowed) << "October again";
}

TEST_F(QuotaLimiterConfigured, AReservationIsSettledInTheDayInWhichItWasMade) {
  Use(R"(quota: {tiers: {users: {"*": [{tokens: 100, per: day}]}}})");
  const auto used = [&] { return limiter_->Explain({.model = "m", .requester = {.user = "alice"}}).tiers.at(0).used; };
  clock_.Set(*ParseTime("2026-10-24T23:59:00Z"));
  const Decision reserved = limiter_->Reserve({.model = "m", .tokens = 80, .requester = {.user = "alice"}});
  ASSERT_TRUE(reserved.allowed);
  clock_.Set(*ParseTime("2026-10-25T00:01:00Z"));
  EXPECT_EQ(used(), 0);
  EXPECT_TRUE(limiter_->Commit(reserved.reservation, 90).ok());
  EXPECT_EQ(used(), 0);
  clock_.Set(*ParseTime("2026-10-24T23:59:00Z"));
  EXPECT_EQ(used(), 90);
}

TEST_F(QuotaLimiterConfigured, RequestersWithoutAUserShareTheLimitOfTheirClass) {
  Use("quota: {tiers: {qos: [{name: free, priority: 3, limits: [{requests: 2, per: 3600}]}]}}");
  EXPECT_TRUE(Take("m", {.qos = "free"}).allowed);
  EXPECT_TRUE(Take("m", {.qos = "free"}).allowed);
  const Decision refused = Take("m", {.qos = "free"});
  EXPECT_EQ(refused.tier, Tier::kQos);
  EXPECT_EQ(refused.reason, "m, tier qos (qos:free:nobody): 2 of 2 requests in 1 h; try again in 1 h");
  EXPECT_TRUE(Take("m", {.user = "alice", .qos = "free"}).allowed);
}

TEST(QuotaConfigErrors, NameThePositionOfTheMistake) {
  struct Case {
    std::string_view yaml;
    std::string_view error;
  };
  for (const Case& c :
       {Case{"quota: {tiers: {default: {model: [{requests: 5, per: 60, total: true}]}}}",
             "total: true belongs to limits of tenants and API keys; those of `users` are totals without it, and other "
             "limits are never added up"},
        Case{"quota: {models: {m: {also: ['a*b*']}}}", "a*b*: found more than one *, expected one at most"},
        Case{"quota: {models: {m: {also: [x]}, n: {also: [x]}}}", "x: stands for m already"},
        Case{"quota: {time_zone: Europe/Atlantis}", "expected a time zone that /usr/share/zoneinfo has"},
        Case{"quota: {tiers: {default: {model: [{requests: 5, per: day, burst: 9}]}}}",
             "beside a calendar day or month"},
        Case{"quota: {tiers: {default: {model: [{requests: 5, per: week}]}}}", "week"},
        Case{"quota: {tiers: {default: {model: [{requests: 5, per: day}, {requests: 9, per: day}]}}}",
             "two limits of the same kind and time"},
        Case{"quota: {tiers: {tenants: {acme: {m: {denied: true}}}}}", "deny"}}) {
    const Result<QuotaConfig> config = Read(std::string(c.yaml));
    ASSERT_FALSE(config.ok()) << c.yaml;
    EXPECT_NE(config.status().message().find(c.error), std::string::npos) << config.status().message();
    EXPECT_EQ(config.status().message().rfind("weir.yaml:1:", 0), 0U) << config.status().message();
  }
}

}  // namespace
}  // namespace weir
