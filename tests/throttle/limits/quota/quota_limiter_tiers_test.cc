// Tiers through the limiter: all are checked first, then all are charged. Also tests Explain.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>
#include <map>
#include <tuple>

#include "config/manual_clock.h"
#include "throttle/limits/quota/memory_store.h"
#include "throttle/limits/quota/quota_limiter.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

const WallTime kStart{std::chrono::seconds(1'771'597'921)};

TierRulesConfig ThreeTiers() {
  return {.default_limits = {.user_model = {{.amount = 2, .per = 1h}},
                             .model = {{.unit = Limit::Unit::kTokens, .amount = 100, .per = 1min}},
                             .instance = {{.kind = Limit::Kind::kBucket, .amount = 3, .per = 30s, .burst = 3}}}};
}

class QuotaLimiterTiers : public testing::Test {
 protected:
  ManualWallClock clock_{kStart};
  MemoryQuotaStore store_{{}, clock_};
  QuotaLimiter limiter_{store_, {.quotas = {{"m", {.max_rpm = 50}}}, .tiers = ThreeTiers()}};
};

TEST_F(QuotaLimiterTiers, TheRefusalNamesTheTierAndChargesNothing) {
  const QuotaRequest request{.model = "m", .tokens = 10, .requester = {.user = "alice", .instance = "gpu-1"}};
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(limiter_.Take(request).allowed);
  const Decision d = limiter_.Take(request);
  EXPECT_FALSE(d.allowed);
  EXPECT_EQ(d.code, QuotaCode::kTierExceeded);
  EXPECT_EQ(d.tier, Tier::kUserModel);
  EXPECT_EQ(d.retry_after, Duration(1h));
  EXPECT_EQ(d.reason, "m, tier user_model (user:alice): 2 of 2 requests in 1 h; try again in 1 h");
  EXPECT_EQ(d.usage.rpm, 2);
  ASSERT_EQ(d.tiers.size(), 3U);
  EXPECT_EQ(d.tiers[1].used, 20);
  EXPECT_EQ(d.tiers[1].remaining, 80);
  EXPECT_EQ(limiter_.Stats("m").value().usage.rpm, 2);

  // When others have used the model up, its tier refuses.
  EXPECT_TRUE(limiter_.Take({.model = "m", .tokens = 80, .requester = {.user = "bob"}}).allowed);
  const Decision full = limiter_.Take({.model = "m", .tokens = 1, .requester = {.user = "carol"}});
  EXPECT_EQ(full.tier, Tier::kModel);
  EXPECT_EQ(full.reason, "m, tier model: 100 of 100 tokens in 1 min, and 1 more asked for; try again in 1 min");
  EXPECT_EQ(limiter_.Explain({.model = "m", .requester = {.user = "carol"}}).tiers[0].used, 0) << "carol paid nothing";
}

TEST_F(QuotaLimiterTiers, ATooLargeRequestIsToldThatItNeverFits) {
  const Decision d = limiter_.Take({.model = "m", .tokens = 101, .requester = {.user = "alice"}});
  EXPECT_EQ(d.code, QuotaCode::kTooLarge);
  EXPECT_EQ(d.tier, Tier::kModel);
  EXPECT_FALSE(d.retry_after);
  EXPECT_EQ(d.reason, "m, tier model: 101 tokens at once can never be allowed: the limit is 100 tokens in 1 min");
}

TEST_F(QuotaLimiterTiers, TheReasonOfABucketTellsItsTakenRequests) {
  for (const char* user : {"a", "b", "c"})
    EXPECT_TRUE(limiter_.Take({.model = "m", .requester = {.user = user, .instance = "gpu-1"}}).allowed);
  const Decision d = limiter_.Take({.model = "m", .requester = {.user = "d", .instance = "gpu-1"}});
  EXPECT_EQ(d.tier, Tier::kInstance);
  EXPECT_EQ(
      d.reason,
      "m, tier instance (instance:gpu-1): 3 of 3 requests are taken (3 requests/30 s, at most 3 at once); try again "
      "in 10 s");
  EXPECT_TRUE(limiter_.Take({.model = "m", .requester = {.user = "d", .instance = "gpu-2"}}).allowed);
}

TEST_F(QuotaLimiterTiers, ExplainShowsEveryTierAndChargesNothing) {
  const Requester who{.user = "alice", .tenant = "acme", .instance = "gpu-1", .qos = "free"};
  const Decision d = limiter_.Explain({.model = "m", .tokens = 10, .requester = who});
  EXPECT_TRUE(d.allowed);
  EXPECT_EQ(d.priority, 3);
  std::vector<std::tuple<Tier, std::string, int64_t>> found;
  for (const TierState& t : d.tiers) found.emplace_back(t.tier, t.key, t.remaining);
  EXPECT_EQ(found,
            (std::vector<std::tuple<Tier, std::string, int64_t>>{{Tier::kUserModel, "tenant:acme:user:alice", 2},
                                                                 {Tier::kQos, "qos:free:tenant:acme:user:alice", 10},
                                                                 {Tier::kModel, "model", 100},
                                                                 {Tier::kInstance, "instance:gpu-1", 3}}));
  EXPECT_TRUE(limiter_.Decide({.model = "m", .requester = who}).tiers.empty()) << "only where it is asked for";
  EXPECT_EQ(limiter_.Stats("m").value().usage.rpm, 0);
}

TEST_F(QuotaLimiterTiers, AnApiKeyIsNotInTheReason) {
  const QuotaRequest request{.model = "m", .requester = {.api_key = "sk-secret", .qos = "free"}};
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(limiter_.Take(request).allowed);
  EXPECT_EQ(limiter_.Take(request).reason,
            "m, tier user_model (this API key): 2 of 2 requests in 1 h; try again in 1 h");
}

TEST_F(QuotaLimiterTiers, NamesThatOnlyLookLikeApiKeysAreShown) {
  TierRulesConfig tiers{.default_limits = {.user_model = {{.amount = 1, .per = 1h}}},
                        .qos_classes = {{.name = "monkey", .limits = {{.amount = 1, .per = 1h}}}}};
  ASSERT_TRUE(limiter_.Reconfigure({.tiers = tiers}).ok());
  const auto reason = [&](const Requester& requester) {
    (void)limiter_.Take({.model = "m", .requester = requester});
    return limiter_.Take({.model = "m", .requester = requester}).reason;
  };
  EXPECT_NE(reason({.tenant = "key"}).find("(tenant:key)"), std::string::npos);
  EXPECT_NE(reason({.user = "key", .api_key = "sk-secret"}).find("(user:key)"), std::string::npos);
  EXPECT_EQ(reason({.api_key = "sk-secret", .qos = "monkey"}).find("secret"), std::string::npos);

  tiers.default_limits = {};
  ASSERT_TRUE(limiter_.Reconfigure({.tiers = tiers}).ok());
  const std::string of_class = reason({.api_key = "sk-secret-too", .qos = "monkey"});
  EXPECT_NE(of_class.find("tier qos (this API key)"), std::string::npos) << of_class;
}

TEST_F(QuotaLimiterTiers, NamesThatLookLikeKeysDoNotCollide) {
  TierRulesConfig tiers{.default_limits = {.user_model = {{.amount = 1, .per = 1h}}}};
  ASSERT_TRUE(limiter_.Reconfigure({.tiers = tiers}).ok());
  const std::pair<std::string_view, Requester> all[] = {
      {"m", {.user = "a:b"}},
      {"m:b", {.user = "a"}},
      {"b:m", {.user = "a"}},
      {"m", {.user = "a%3Ab"}},
      {"m", {.user = "a"}},
      {"m", {.tenant = "a"}},
      {"m", {.user = "user:a"}},
      {"m", {.api_key = "a"}},
      {"m", {.user = "b", .tenant = "a"}},
      {"m", {.tenant = "a:user:b"}},
      {"m", {.user = "b", .tenant = "b"}},
      {"{m}", {.user = "a"}},
  };
  for (const auto& [model, requester] : all)
    EXPECT_TRUE(limiter_.Take({.model = model, .requester = requester}).allowed) << model << " " << requester.user;
  for (const auto& [model, requester] : all)
    EXPECT_FALSE(limiter_.Take({.model = model, .requester = requester}).allowed) << model << " " << requester.user;
}

// Keeps every entry that was ever charged, and counts them anew for each question.
class SlowModel {
 public:
  struct Counted {
    std::string name;  // the count's name
    Limit limit;
  };

  std::optional<size_t> FirstThatRefuses(const std::vector<Counted>& limits, WallTime now, int64_t tokens) const {
    for (size_t i = 0; i < limits.size(); ++i)
      if (Used(limits[i], now) + Asked(limits[i], tokens) > limits[i].limit.amount) return i;
    return std::nullopt;
  }
  void ChargeAll(const std::vector<Counted>& limits, WallTime now, int64_t tokens) {
    for (const Counted& c : limits) entries_[c.name].emplace_back(now, Asked(c, tokens));
  }
  int64_t Used(const Counted& c, WallTime now) const {
    const auto found = entries_.find(c.name);
    int64_t used = 0;
    if (found == entries_.end()) return 0;
    for (const auto& [time, amount] : found->second)
      if (time + c.limit.per > now) used += amount;
    return used;
  }

 private:
  static int64_t Asked(const Counted& c, int64_t tokens) { return c.limit.unit == Limit::Unit::kTokens ? tokens : 1; }
  std::map<std::string, std::vector<std::pair<WallTime, int64_t>>> entries_;
};

// Returns the limits that apply to a request of `user` (of no tenant, or "t") for `model` on `instance`, under names of
// this test's own.
std::vector<SlowModel::Counted> Meets(const TierRulesConfig& tiers, int64_t rpm, const std::string& model,
                                      const std::string& user, bool tenant, const std::string& instance) {
  std::vector<SlowModel::Counted> counted;
  const auto add = [&](const std::string& whose, const Limits& limits) {
    const std::string counted_for = model + "|" + whose + "|";
    for (const Limit& limit : limits)
      counted.push_back(
          {counted_for + std::to_string(static_cast<int>(limit.unit)) + "|" + std::to_string(limit.per.count()),
           limit});
  };
  const bool overridden = tenant && tiers.tenants.at("t").contains(model);
  add((tenant ? "t/" : "") + user, overridden ? tiers.tenants.at("t").at(model) : tiers.default_limits.user_model);
  add("all", tiers.default_limits.model);
  counted.push_back({model + "|quota", {.amount = rpm, .per = kMinute}});
  add("on " + instance, tiers.default_limits.instance);
  return counted;
}

RC_GTEST_PROP(QuotaLimiterTiersProperty, DecidesAsAModelThatCountsEverythingAnew, ()) {
  const auto some_limits = [] {
    Limits limits = {
        {.amount = *rc::gen::inRange<int64_t>(1, 6), .per = std::chrono::seconds(*rc::gen::inRange(1, 90))}};
    if (*rc::gen::arbitrary<bool>())
      limits.push_back({.unit = Limit::Unit::kTokens,
                        .amount = *rc::gen::inRange<int64_t>(10, 60),
                        .per = std::chrono::seconds(*rc::gen::inRange(1, 90))});
    return limits;
  };
  TierRulesConfig tiers;
  tiers.default_limits = {.user_model = some_limits(), .model = some_limits(), .instance = some_limits()};
  tiers.tenants["t"]["m"] = some_limits();
  RC_ASSERT(CheckTierRules(tiers).ok());
  const auto rpm = *rc::gen::inRange<int64_t>(1, 8);
  ManualWallClock clock(kStart);
  MemoryQuotaStore store({}, clock);
  QuotaLimiter limiter(store, {.quotas = {{"m", {.max_rpm = rpm}}, {"n", {.max_rpm = rpm}}}, .tiers = tiers});
  SlowModel slow;
  for (int step = *rc::gen::inRange(0, 120); step > 0; --step) {
    clock.Advance(std::chrono::milliseconds(*rc::gen::inRange(0, 8000)));
    const auto model = *rc::gen::element<std::string>("m", "n");
    const auto user = *rc::gen::element<std::string>("a", "a:b");
    const auto instance = *rc::gen::element<std::string>("1", "2");
    const bool tenant = *rc::gen::arbitrary<bool>();
    const auto tokens = *rc::gen::inRange<int64_t>(0, 10);
    const QuotaRequest request{
        .model = model,
        .tokens = tokens,
        .requester = {.user = user, .tenant = tenant ? "t" : std::string_view(), .instance = instance}};
    const auto limits = Meets(tiers, rpm, model, user, tenant, instance);
    const std::optional<size_t> refuses = slow.FirstThatRefuses(limits, clock.Now(), tokens);
    const Decision d = limiter.Take(request);
    RC_ASSERT(d.allowed == !refuses);
    if (!refuses) slow.ChargeAll(limits, clock.Now(), tokens);

    if (refuses) {
      RC_ASSERT(d.retry_after.has_value());
      // After exactly that time it fits, if nothing else comes.
      RC_ASSERT(!slow.FirstThatRefuses(limits, clock.Now() + *d.retry_after, tokens));
      RC_ASSERT(slow.FirstThatRefuses(limits, clock.Now() + *d.retry_after - 1ns, tokens).has_value());
    }
    // The model's quota is one of the limits, but no tier.
    const Decision explained = limiter.Explain(request);
    RC_ASSERT(explained.tiers.size() + 1 == limits.size());
    size_t tier = 0;
    for (size_t i = 0; i < limits.size(); ++i) {
      if (refuses == i)
        RC_ASSERT(d.tier ==
                  (limits[i].name.ends_with("quota") ? std::nullopt : std::optional(explained.tiers[tier].tier)));
      if (limits[i].name.ends_with("quota")) continue;
      RC_ASSERT(explained.tiers[tier].used == slow.Used(limits[i], clock.Now()));
      ++tier;
    }
  }
}

}  // namespace
}  // namespace weir
