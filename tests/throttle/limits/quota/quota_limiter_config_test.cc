// Which quotas hold: from profiles, the configuration or the store; and how they are stated, changed and withdrawn.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "config/manual_clock.h"
#include "tests/throttle/limits/quota/scripted_store.h"
#include "throttle/limits/quota/memory_store.h"
#include "throttle/limits/quota/quota_limiter.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

constexpr ModelQuota Rpm(int64_t rpm) { return {.max_rpm = rpm}; }

std::optional<ModelQuota> QuotaOf(QuotaLimiter& limiter, std::string_view model) {
  return limiter.Decide({.model = model}).quota;
}

TEST(QuotaLimiterConfig, ProfilesThenConfigurationThenTheStore) {
  MemoryQuotaStore store;
  QuotaLimiter gemini(store);
  EXPECT_EQ(QuotaOf(gemini, "gemini-2.5-pro")->max_rpm, 150);
  EXPECT_EQ(QuotaOf(gemini, "gpt-4o"), std::nullopt);

  QuotaLimiter own(store, {.quotas = {{"gpt-4o", Rpm(7)}}});
  EXPECT_EQ(QuotaOf(own, "gemini-2.5-pro"), std::nullopt) << "quotas alone: no profile";
  EXPECT_EQ(QuotaOf(own, "gpt-4o"), Rpm(7)) << "before it is stated, too";

  QuotaLimiter both(store, {.providers = {Provider::kOpenAi, Provider::kLocal}, .quotas = {{"gpt-4o", Rpm(7)}}});
  EXPECT_EQ(QuotaOf(both, "o1"), (ModelQuota{500, 30'000, 0}));
  EXPECT_EQ(QuotaOf(both, "gpt-4o"), Rpm(7));
  ASSERT_TRUE(store.SetQuota("gpt-4o", Rpm(3)).ok());
  EXPECT_EQ(QuotaOf(both, "gpt-4o"), Rpm(3)) << "the last word is the store's";
}

TEST(QuotaLimiterConfig, AddProviderTakesNothingAway) {
  MemoryQuotaStore store;
  QuotaLimiter limiter(store);
  limiter.AddProvider(Provider::kAnthropic);
  limiter.AddProvider(Provider::kAnthropic);
  EXPECT_EQ(QuotaOf(limiter, "claude-opus-4")->max_rpm, 50);
  EXPECT_EQ(QuotaOf(limiter, "gemini-2.5-pro")->max_rpm, 150);
  EXPECT_EQ(limiter.config()->providers, (std::vector{Provider::kGemini, Provider::kAnthropic}));
}

TEST(QuotaLimiterConfig, ListsModelsOfTheConfigurationAndOfTheStore) {
  MemoryQuotaStore store;
  QuotaLimiter limiter(store, {.quotas = {{"b", Rpm(1)}, {"d", {}}}});
  ASSERT_TRUE(limiter.StateQuotas().ok());
  limiter.RecordUsage("c", 1, 1);
  ASSERT_TRUE(limiter.SetQuota("a", Rpm(9)).ok());
  EXPECT_EQ(limiter.Models().value(), (Strings{"a", "b", "c", "d"}));
  const auto all = limiter.AllStats();
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all.value().models.size(), 4U);
  EXPECT_EQ(all.value().models[0].quota, Rpm(9));
  EXPECT_EQ(all.value().models[2].usage.tpm, 2);
  ASSERT_TRUE(limiter.Reset("c").ok());
  EXPECT_EQ(limiter.Models().value(), (Strings{"a", "b", "d"}));
  limiter.RecordUsage("a", 1, 1);
  ASSERT_TRUE(limiter.ResetAll().ok());
  EXPECT_EQ(limiter.Stats("a").value().usage, ModelUsage());
  EXPECT_EQ(limiter.Stats("a").value().quota, Rpm(9));
}

TEST(QuotaLimiterConfig, StatesChangedQuotasAndWarnsOfReplacedOnes) {
  ScriptedStore store;
  store.quotas = {{"same", Rpm(1)}, {"other", Rpm(2)}};
  QuotaLimiter limiter(store, {.quotas = {{"same", Rpm(1)}, {"other", Rpm(20)}, {"new", Rpm(3)}}});
  EXPECT_TRUE(store.asked.empty()) << "the constructor does not speak to the store";
  const auto warnings = limiter.StateQuotas();
  ASSERT_TRUE(warnings.ok());
  EXPECT_EQ(warnings.value(), (Strings{"other: the store said " + Describe(Rpm(2)) +
                                       ", by another process or an earlier configuration; "
                                       "now " +
                                       Describe(Rpm(20)) + " holds for all that share it"}));
  EXPECT_EQ(store.calls, (Strings{"set new " + Describe(Rpm(3)), "set other " + Describe(Rpm(20))}));

  store.calls.clear();
  store.asked.clear();
  EXPECT_EQ(limiter.StateQuotas().value(), Strings());
  EXPECT_TRUE(store.asked.empty()) << "all was said";

  // A quota that another process states meanwhile stands until the configuration says something new about it.
  store.quotas["other"] = Rpm(99);
  ASSERT_EQ(limiter.Reconfigure({.quotas = {{"same", Rpm(5)}, {"other", Rpm(20)}, {"new", Rpm(3)}}}).value(),
            Strings());
  EXPECT_EQ(store.quotas["other"], Rpm(99));
  EXPECT_EQ(store.quotas["same"], Rpm(5));
}

TEST(QuotaLimiterConfig, WithdrawsQuotasRemovedFromTheConfiguration) {
  ScriptedStore store;
  QuotaLimiter limiter(store, {.quotas = {{"kept", Rpm(1)}, {"gone", Rpm(2)}, {"changed", Rpm(3)}}});
  ASSERT_TRUE(limiter.StateQuotas().ok());
  store.quotas["changed"] = Rpm(30);
  const auto warnings = limiter.Reconfigure({.quotas = {{"kept", Rpm(1)}}});
  ASSERT_TRUE(warnings.ok());
  EXPECT_EQ(warnings.value(), (Strings{"gone: stands in the configuration no more; " + Describe(Rpm(2)) +
                                       " is withdrawn for all that share the store"}));
  EXPECT_FALSE(store.quotas.contains("gone"));
  EXPECT_EQ(store.quotas["changed"], Rpm(30)) << "somebody else's word";
  EXPECT_EQ(store.quotas["kept"], Rpm(1));
}

TEST(QuotaLimiterConfig, StatesQuotasOnceTheStoreIsBack) {
  ScriptedStore store;
  store.quotas = {{"m", Rpm(1)}};
  store.away = true;
  QuotaLimiter limiter(store, {.quotas = {{"m", Rpm(2)}}});
  const auto failed = limiter.StateQuotas();
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.status().message(),
            "stating the quota of m: the store of the quotas does not answer: connection refused");
  EXPECT_FALSE(limiter.Reconfigure({.quotas = {{"m", Rpm(3)}}, .unknown_models = UnknownModels::kRefuse}).ok());
  EXPECT_EQ(limiter.config()->unknown_models, UnknownModels::kRefuse) << "the configuration is in force all the same";
  store.away = false;
  EXPECT_EQ(limiter.StateQuotas().value().size(), 1U);
  EXPECT_EQ(store.quotas["m"], Rpm(3));
}

TEST(QuotaLimiterConfig, RestatesLostQuotasAfterAReconnect) {
  ScriptedStore store;
  QuotaLimiter limiter(store, {.quotas = {{"lost", Rpm(1)}, {"changed", Rpm(2)}}});
  ASSERT_TRUE(limiter.StateQuotas().ok());
  store.quotas = {{"changed", Rpm(20)}};
  store.asked.clear();
  EXPECT_EQ(limiter.StateQuotas().value(), Strings());
  EXPECT_TRUE(store.asked.empty());

  ++store.reconnects;
  store.away = true;
  EXPECT_FALSE(limiter.StateQuotas().ok());
  store.away = false;
  EXPECT_EQ(limiter.StateQuotas().value(),
            (Strings{"lost: the store had lost it; " + Describe(Rpm(1)) + " is stated again",
                     "changed: the store says " + Describe(Rpm(20)) +
                         ", by another process or an administrator; it holds here too, and not " + Describe(Rpm(2)) +
                         " of the configuration"}));
  EXPECT_EQ(store.quotas["lost"], Rpm(1));
  EXPECT_EQ(store.quotas["changed"], Rpm(20)) << "somebody else's word";
  store.asked.clear();
  EXPECT_EQ(limiter.StateQuotas().value(), Strings());
  EXPECT_TRUE(store.asked.empty());
}

// The first limiter states its own quota, and the second is told of it.
TEST(QuotaLimiterConfig, BothConfigurationsAreWarnedOfAnEmptiedStore) {
  ScriptedStore store;
  QuotaLimiter first(store, {.quotas = {{"m", Rpm(50)}}});
  QuotaLimiter second(store, {.quotas = {{"m", Rpm(70)}}});
  ASSERT_TRUE(first.StateQuotas().ok());
  ASSERT_TRUE(second.StateQuotas().ok());
  store.quotas.clear();
  ++store.reconnects;
  EXPECT_EQ(first.StateQuotas().value(),
            (Strings{"m: the store had lost it; " + Describe(Rpm(50)) + " is stated again"}));
  EXPECT_EQ(second.StateQuotas().value(),
            (Strings{"m: the store says " + Describe(Rpm(50)) +
                     ", by another process or an administrator; it holds here too, and not " + Describe(Rpm(70)) +
                     " of the configuration"}));
  EXPECT_EQ(store.quotas["m"], Rpm(50));
  EXPECT_EQ(second.StateQuotas().value(), Strings());
}

TEST(QuotaLimiterConfig, AnUnsetQuotaReturnsToTheConfiguration) {
  ScriptedStore store;
  QuotaLimiter limiter(store, {.quotas = {{"configured", Rpm(1)}}});
  ASSERT_TRUE(limiter.StateQuotas().ok());
  for (const char* model : {"configured", "other"}) {
    ASSERT_TRUE(limiter.SetQuota(model, Rpm(9)).ok());
    ASSERT_TRUE(limiter.UnsetQuota(model).ok());
  }
  EXPECT_EQ(store.quotas, (std::map<std::string, ModelQuota, std::less<>>{{"configured", Rpm(1)}}));
  EXPECT_FALSE(limiter.UnsetQuota("").ok());
}

TEST(QuotaLimiterConfig, AsksAnAsynchronousStoreForTheStatsOfManyAtOnce) {
  ScriptedStore store;
  store.pace_now = QuotaStore::Pace::kAsynchronous;
  QuotaLimiter limiter(store, {.quotas = {{"a", Rpm(1)}, {"b", Rpm(2)}, {"c", Rpm(3)}}});
  store.most_pending = 3;  // the store answers none before three are asked
  const auto all = limiter.AllStats();
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all.value().models.size(), 3U);
  EXPECT_EQ(all.value().models[2].model, "c");
  EXPECT_EQ(all.value().models[2].quota, Rpm(3));
}

// Acts as a gate that was restarted: the limiter that stated the quotas is gone.
TEST(QuotaLimiterConfig, TheNextStartWithdrawsQuotasOfAnEarlierConfiguration) {
  MemoryQuotaStore store;
  {
    QuotaLimiter before(store, {.quotas = {{"kept", Rpm(1)}, {"dropped", Rpm(2)}, {"changed", Rpm(3)}}});
    ASSERT_TRUE(before.StateQuotas().ok());
    ASSERT_TRUE(before.SetQuota("changed", Rpm(30)).ok());
    ASSERT_TRUE(before.SetQuota("by hand", Rpm(4)).ok());
  }
  QuotaLimiter after(store, {.no_profiles = true, .quotas = {{"kept", Rpm(1)}}, .withdraws_others = true});
  EXPECT_EQ(after.StateQuotas().value(), Strings{"dropped: stands in the configuration no more; " + Describe(Rpm(2)) +
                                                 " is withdrawn for all that share the store"});
  EXPECT_EQ(QuotaOf(after, "kept"), Rpm(1));
  EXPECT_EQ(QuotaOf(after, "dropped"), std::nullopt);
  EXPECT_EQ(QuotaOf(after, "changed"), Rpm(30)) << "an administrator's word stays";
  EXPECT_EQ(QuotaOf(after, "by hand"), Rpm(4));
  EXPECT_EQ(after.StateQuotas().value(), Strings());
}

TEST(QuotaLimiterConfig, ALimiterWithoutAConfigurationWithdrawsNothing) {
  MemoryQuotaStore store;
  ASSERT_TRUE(store.StateQuota("gpt-4o", Rpm(1)).ok());
  QuotaLimiter other(store);
  ASSERT_TRUE(other.StateQuotas().ok());
  EXPECT_EQ(QuotaOf(other, "gpt-4o"), Rpm(1));
}

TEST(QuotaLimiterConfig, TheConfigurationTakesOverAQuotaThatItStatesAlike) {
  MemoryQuotaStore store;
  ASSERT_TRUE(store.SetQuota("gpt-4o", Rpm(1)).ok());  // like a store that did not record who stated a quota
  QuotaLimiter limiter(store, {.quotas = {{"gpt-4o", Rpm(1)}}, .withdraws_others = true});
  EXPECT_EQ(limiter.StateQuotas().value(), Strings());
  EXPECT_EQ(store.StatedByConfiguration().value(), Strings{"gpt-4o"});
}

TEST(QuotaLimiterConfig, AnEditOfTheFileIsNoOtherProcess) {
  MemoryQuotaStore store;
  QuotaLimiter limiter(store, {.quotas = {{"gpt-4o", Rpm(1)}}});
  ASSERT_TRUE(limiter.StateQuotas().ok());
  EXPECT_EQ(limiter.Reconfigure({.quotas = {{"gpt-4o", Rpm(2)}}}).value(), Strings());
  EXPECT_EQ(QuotaOf(limiter, "gpt-4o"), Rpm(2));
}

TEST(QuotaLimiterConfig, RefusesInvalidConfigurations) {
  EXPECT_TRUE(CheckQuotaConfig({}).ok());
  EXPECT_FALSE(CheckQuotaConfig({.quotas = {{"m", Rpm(-1)}}}).ok());
  EXPECT_FALSE(CheckQuotaConfig({.quotas = {{"", Rpm(1)}}}).ok());
  EXPECT_FALSE(CheckQuotaConfig({.prices = {{"m", {.input = -1}}}}).ok());
  EXPECT_FALSE(CheckQuotaConfig({.prices = {{"m", {.output = kMostAmount + 1}}}}).ok());
  EXPECT_FALSE(CheckQuotaConfig({.reservation_ttl = 0s}).ok());
  EXPECT_FALSE(CheckQuotaConfig({.reservation_ttl = 25h}).ok());
  QuotaConfig config;
  config.tiers.qos_classes.push_back(config.tiers.qos_classes.front());
  EXPECT_FALSE(CheckQuotaConfig(config).ok());
}

TEST(QuotaLimiterConfig, ThreadsSeeANewConfigurationFromTheNextCallOn) {
  MemoryQuotaStore store;
  QuotaLimiter a(store, {.quotas = {{"m", Rpm(1)}}});
  QuotaLimiter b(store, {.quotas = {{"m", Rpm(2)}}});
  std::atomic<int64_t> current = 10;
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        const int64_t before = current;
        const int64_t seen = a.config()->reservation_ttl / 1s;
        ASSERT_GE(seen, before);
        // Asks two limiters in turn, on the same thread.
        ASSERT_EQ(b.config()->reservation_ttl, Duration(10min));
        ASSERT_TRUE(a.Decide({.model = "x"}).allowed);
      }
    });
  }
  for (int64_t ttl = 11; ttl < 300; ++ttl) {
    ASSERT_TRUE(a.Reconfigure({.reservation_ttl = std::chrono::seconds(ttl)}).ok());
    if (ttl >= 60) current = ttl;
  }
  stop = true;
  for (std::thread& t : threads) t.join();
}

}  // namespace
}  // namespace weir
