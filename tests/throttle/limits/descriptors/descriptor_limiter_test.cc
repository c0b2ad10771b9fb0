#include "throttle/limits/descriptors/descriptor_limiter.h"

#include <limits>
#include <map>
#include <set>

#include "tests/throttle/limits/descriptors/descriptor_fixture.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

class DescriptorLimiterTest : public DescriptorFixture {};

TEST_F(DescriptorLimiterTest, LetsTheLimitThroughInEachWindow) {
  Rule({.key = "a", .limit = PerUnit(3)});
  EXPECT_EQ(PassesOf(5, "a=1"), 3);
  EXPECT_EQ(PassesOf(5, "a=2"), 3) << "each value has its own";
  Pass(seconds(59));
  EXPECT_EQ(PassesOf(5, "a=1"), 0);
  Pass(seconds(1));
  EXPECT_EQ(PassesOf(5, "a=1"), 3);
}

TEST_F(DescriptorLimiterTest, TellsOfEachDescriptor) {
  Rule({.key = "a", .limit = PerUnit(3)});
  Rule({.key = "b", .limit = {{.unit = LimitUnit::kPerHour, .requests_per_unit = 1, .name = "of b"}}});
  Rule({.key = "free", .limit = {{.unlimited = true}}});
  Ask({"a=1", "b=1"});
  Pass(seconds(7));
  const DescriptorAnswer answer = Ask({"a=1", "b=1", "free=1", "none=1"});
  EXPECT_EQ(answer.code, Code::kOverLimit);
  ASSERT_EQ(answer.statuses.size(), 4u);
  EXPECT_FALSE(answer.statuses[0].over);
  EXPECT_EQ(answer.statuses[0].limit, (UnitLimit{3, LimitUnit::kPerMinute}));
  EXPECT_EQ(answer.statuses[0].remaining, 1u);
  EXPECT_EQ(answer.statuses[0].until_reset, seconds(53));
  EXPECT_TRUE(answer.statuses[1].over);
  EXPECT_EQ(answer.statuses[1].remaining, 0u);
  EXPECT_EQ(answer.statuses[1].limit_name, "of b");
  EXPECT_EQ(answer.statuses[1].until_reset, seconds(3600 - 847));
  EXPECT_TRUE(answer.statuses[2].unlimited);
  EXPECT_FALSE(answer.statuses[2].limit);
  EXPECT_FALSE(answer.statuses[3].over || answer.statuses[3].unlimited || answer.statuses[3].limit);
}

TEST_F(DescriptorLimiterTest, ChargesAllDescriptorsOfARequest) {
  Rule({.key = "a", .limit = PerUnit(1)});
  Rule({.key = "b", .limit = PerUnit(3)});
  EXPECT_TRUE(Passes({"a=1", "b=1"}));
  EXPECT_FALSE(Passes({"a=1", "b=1"}));
  EXPECT_FALSE(Passes({"a=1", "b=1"}));
  EXPECT_FALSE(Passes({"b=1", "b=1"})) << "the refused ones were charged too, and one that is there twice is twice";
  EXPECT_EQ(CountsOf("b").hits, 5u);
}

TEST_F(DescriptorLimiterTest, ALimitOfZeroRefusesEveryRequest) {
  Rule({.key = "a", .value = "bad", .limit = PerUnit(0)});
  EXPECT_FALSE(Passes({"a=bad"}));
  EXPECT_EQ(CountsOf("a_bad").over, 1u);
}

TEST_F(DescriptorLimiterTest, ChargesAsManyHitsAsItIsTold) {
  Rule({.key = "a", .limit = PerUnit(10)});
  EXPECT_EQ(Ask({"a=1"}, 4).statuses[0].remaining, 6u);
  EXPECT_EQ(Ask({"a=1"}, 0).statuses[0].remaining, 5u) << "nothing said is one";
  EXPECT_EQ(Ask({{"a=1", 3}, {"a=2", 1}}, 9).statuses[0].remaining, 2u) << "a descriptor's own";
  EXPECT_EQ(Ask({{"a=1", 0}}, 9).statuses[0].remaining, 2u) << "a descriptor's zero asks";
  EXPECT_TRUE(Ask({"a=1"}, 3).statuses[0].over);
  EXPECT_TRUE(Ask({{"a=1", 0}}).statuses[0].over) << "what was refused was charged";
  EXPECT_TRUE(Ask({{"a=1", std::numeric_limits<uint64_t>::max()}}).statuses[0].over);
  EXPECT_TRUE(Ask({"a=1"}).statuses[0].over) << "a count does not begin anew";
}

TEST_F(DescriptorLimiterTest, ADescriptorMayBringItsLimit) {
  Rule({.key = "a", .limit = PerUnit(1)});
  const AskedText with_limit("a=1", std::nullopt, UnitLimit{2, LimitUnit::kPerHour});
  EXPECT_EQ(PassesOf(3, with_limit), 2);
  EXPECT_EQ(PassesOf(3, {"any=1/thing=2", std::nullopt, UnitLimit{1, LimitUnit::kPerDay}}), 1) << "without a rule";
  EXPECT_EQ(PassesOf(3, "a=1"), 1) << "another unit is counted apart";
  EXPECT_EQ(CountsOf(std::string(DescriptorRules::kOverrides)).hits, 6u);
  EXPECT_EQ(Ask({with_limit}, 1, "nobody's").code, Code::kOk) << "but not in a domain that nobody knows";
}

TEST_F(DescriptorLimiterTest, DescriptorsWithoutALimitPass) {
  Rule({.key = "a", .limit = PerUnit(0)});
  EXPECT_TRUE(Passes({"b=1"}));
  EXPECT_EQ(Ask({"a=1", "a=2"}, 1, "unknown").code, Code::kOk);
  EXPECT_EQ(Ask({""}).code, Code::kOk);
  const DescriptorCounts counts = limiter().Counts();
  EXPECT_EQ(counts.unknown_domain, 2u);
  EXPECT_EQ(counts.without_limit, 2u);
  EXPECT_EQ(counts.names, 0u);
}

TEST_F(DescriptorLimiterTest, ALimitMayReplaceAnother) {
  Node* one = Rule({.key = "one", .value = "1"});
  Node* two = Rule({.key = "two", .value = "2"});
  Rule({.key = "user", .limit = {{.unit = LimitUnit::kPerMinute, .requests_per_unit = 5, .name = "specific"}}}, one);
  Rule({.key = "user", .limit = {{.unit = LimitUnit::kPerMinute, .requests_per_unit = 10, .replaces = {"specific"}}}},
       two);
  const std::vector<AskedText> both = {"one=1/user=u", "two=2/user=u"};
  for (int i = 0; i < 10; ++i) {
    const DescriptorAnswer answer = Ask(both);
    EXPECT_EQ(answer.code, Code::kOk) << i;
    EXPECT_FALSE(answer.statuses[0].limit);
  }
  EXPECT_FALSE(Passes(both));
  EXPECT_EQ(PassesOf(10, "one=1/user=u"), 5) << "the replaced one was not charged";
}

TEST_F(DescriptorLimiterTest, AnUnlimitedLimitReplacesToo) {
  Rule({.key = "a", .limit = {{.unit = LimitUnit::kPerMinute, .requests_per_unit = 0, .name = "block"}}});
  Rule({.key = "vip", .limit = {{.unlimited = true, .replaces = {"block"}}}});
  EXPECT_FALSE(Passes({"a=1"}));
  EXPECT_TRUE(Passes({"a=1", "vip=1"}));
  EXPECT_EQ(CountsOf("vip").hits, 0u) << "what is unlimited is charged nothing";
}

TEST_F(DescriptorLimiterTest, ShadowModeCountsAndRefusesNothing) {
  Rule({.key = "a", .limit = PerUnit(2), .shadow_mode = true});
  EXPECT_EQ(PassesOf(5, "a=1"), 5);
  EXPECT_EQ(Ask({"a=1"}).statuses[0].remaining, 0u);
  EXPECT_EQ(CountsOf("a").over, 4u);
  EXPECT_EQ(CountsOf("a").shadow, 4u);
}

TEST_F(DescriptorLimiterTest, AllMayBeInShadow) {
  config_.shadow = true;
  Rule({.key = "a", .limit = PerUnit(1)});
  EXPECT_EQ(PassesOf(3, "a=1"), 3);
  EXPECT_TRUE(Ask({"a=1"}).statuses[0].over) << "the status tells";
  EXPECT_EQ(limiter().Counts().let_pass, 3u);
  EXPECT_EQ(CountsOf("a").shadow, 0u) << "that is of the rule's own shadow";
}

TEST_F(DescriptorLimiterTest, QuotaModeRefusesIfAllQuotasAreOver) {
  Rule({.key = "quota", .limit = PerUnit(1), .quota_mode = true});
  Rule({.key = "limit", .limit = PerUnit(1)});
  EXPECT_TRUE(Passes({"quota=1", "quota=2"}));
  EXPECT_TRUE(Passes({"quota=1", "quota=3"})) << "one of the quotas has room";
  EXPECT_FALSE(Passes({"quota=1", "quota=2"}));
  EXPECT_FALSE(Passes({"quota=1"}));
  EXPECT_FALSE(Passes({"quota=1", "free=1"})) << "what has no limit is no quota";
  EXPECT_TRUE(Passes({"quota=8", "limit=1"}));
  EXPECT_FALSE(Passes({"quota=9", "limit=1"})) << "other limits refuse as ever";
}

TEST_F(DescriptorLimiterTest, CountsHitsThatAreOverAndNear) {
  Rule({.key = "a", .limit = PerUnit(10)});
  const RuleCounts& counts = CountsOf("a");
  Ask({"a=1"}, 7);
  EXPECT_EQ(counts.near, 0u);
  Ask({"a=1"}, 2);
  EXPECT_EQ(counts.near, 1u) << "of 8 and 9 one is beyond four fifths";
  Ask({"a=1"}, 4);
  EXPECT_EQ(counts.near, 2u);
  EXPECT_EQ(counts.over, 3u);
  Ask({"a=1"}, 5);
  EXPECT_EQ(counts.near, 2u);
  EXPECT_EQ(counts.over, 8u);
  EXPECT_EQ(counts.hits, 18u);
}

TEST_F(DescriptorLimiterTest, ChargesThatAreNotWholeWithinTheLimitAreNotWithin) {
  Rule({.key = "a", .limit = PerUnit(20)});
  const RuleCounts& counts = CountsOf("a");
  Ask({"a=1"}, 25);
  EXPECT_EQ(counts.within(), 0u);
  EXPECT_EQ(counts.over, 5u);
  Ask({"a=2"}, 20);
  EXPECT_EQ(counts.within(), 20u);
  Ask({"a=2"}, 3);
  EXPECT_EQ(counts.within(), 20u);
  EXPECT_EQ(counts.hits, 48u);
}

TEST_F(DescriptorLimiterTest, RefusesInvalidRequests) {
  Rule({.key = "a", .limit = PerUnit(1)});
  const auto reason = [&](const std::vector<AskedText>& descriptors, std::string_view domain = "d") {
    const DescriptorAnswer answer = Ask(descriptors, 1, domain);
    EXPECT_EQ(answer.code, Code::kInvalid);
    return answer.reason;
  };
  EXPECT_EQ(reason({"a=1"}, ""), "the domain is empty");
  EXPECT_EQ(reason({}), "there is no descriptor");
  EXPECT_EQ(reason(std::vector<AskedText>(kMostDescriptors + 1, "a=1")), "257 descriptors, at most 256 are taken");
  EXPECT_EQ(CountsOf("a").hits, 0u);
}

// A long value must not end in an error, because an Envoy may let requests pass on errors.
TEST_F(DescriptorLimiterTest, NoLengthFreesAValueOrItsNeighbours) {
  config_.shards = 1;
  Rule({.key = "blocked", .limit = PerUnit(0)});
  Rule({.key = "a", .limit = PerUnit(2)});
  for (const int length : {100, 300, 5'000, 60'000, 1 << 20}) {
    const std::string value(static_cast<size_t>(length), 'x');
    EXPECT_EQ(Ask({"a=" + value, "blocked=1"}).code, Code::kOverLimit) << length;
    EXPECT_EQ(Ask({"none=" + value, "blocked=1"}).code, Code::kOverLimit) << length;
    EXPECT_EQ(PassesOf(5, "a=" + value + "1"), 2) << length;
    EXPECT_EQ(PassesOf(5, "a=" + value + "2"), 2) << length << ": another is counted apart";
    EXPECT_EQ(PassesOf(5, {"a=" + value, std::nullopt, UnitLimit{3, LimitUnit::kPerHour}}), 3) << length;
  }
  std::string deep = "blocked=1";
  for (int i = 0; i < 1'000; ++i) deep += "/more=1";
  EXPECT_EQ(Ask({deep, "blocked=1"}).code, Code::kOverLimit);
  EXPECT_LE(limiter().Counts().bytes, limiter().Counts().names * (kMostNameBytes + 112) + 1'000)
      << "names are held, not values";
}

TEST_F(DescriptorLimiterTest, AReplacedQuotaIsNotAmongTheQuotas) {
  Rule({.key = "quota",
        .limit = {{.unit = LimitUnit::kPerMinute, .requests_per_unit = 9, .name = "roomy"}},
        .quota_mode = true});
  Rule({.key = "other", .limit = PerUnit(1), .quota_mode = true});
  Rule({.key = "vip", .limit = {{.unlimited = true, .replaces = {"roomy"}}}});
  EXPECT_TRUE(Passes({"quota=1", "other=1", "vip=1"}));
  EXPECT_FALSE(Passes({"quota=1", "other=1", "vip=1"})) << "all quotas that apply are over";
  EXPECT_TRUE(Passes({"quota=1", "other=1"})) << "one of them has room";
}

TEST_F(DescriptorLimiterTest, ForgetsWindowsThatHaveEnded) {
  Rule({.key = "second", .limit = PerUnit(9, LimitUnit::kPerSecond)});
  Rule({.key = "day", .limit = PerUnit(9, LimitUnit::kPerDay)});
  for (int i = 0; i < 1000; ++i) Ask({"second=" + std::to_string(i), "day=" + std::to_string(i)});
  EXPECT_EQ(limiter().Counts().names, 2000u);
  for (int i = 0; i < 40; ++i) Pass(seconds(1));
  EXPECT_EQ(limiter().Counts().names, 1000u);
  wall_clock_.Advance(hours(24));
  for (int i = 0; i < 40; ++i) Pass(seconds(1));
  EXPECT_EQ(limiter().Counts().names, 0u);
  EXPECT_EQ(limiter().Counts().bytes, 0u);
  EXPECT_EQ(limiter().Tick(), TimePoint::max()) << "nobody needs a tick";
}

// Values come again and again, among far more values than there is room for.
TEST_F(DescriptorLimiterTest, AFloodOfValuesExceedsNeitherLimitsNorMemory) {
  for (const size_t max_bytes : {size_t{0}, size_t{300}, size_t{100'000}}) {
    config_ = {.max_bytes = max_bytes, .shards = 2};
    limiter_.reset();
    rules_ = std::make_shared<DescriptorRules>();
    domain_ = nullptr;
    Rule({.key = "a", .limit = PerUnit(4)});
    std::map<int, uint32_t> passed;
    uint64_t random = 1;
    for (int i = 0; i < 30'000; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      const int value = static_cast<int>(random >> 33) % (i % 3 == 0 ? 20 : 10'000);
      const uint32_t hits = i % 2 == 0 ? 1 : 2;
      if (Ask({"a=" + std::to_string(value)}, hits).code == Code::kOk) passed[value] += hits;
      EXPECT_LE(limiter().Counts().bytes, max_bytes + 400) << "of the rule itself";
    }
    for (const auto& [value, hits] : passed) EXPECT_LE(hits, 4u) << value << " with " << max_bytes;
    if (max_bytes == 100'000) {
      EXPECT_GT(passed.size(), 500u) << "as many as there was room for";
    }
    EXPECT_GT(CountsOf("a").with_others, 0u);
  }
}

TEST_F(DescriptorLimiterTest, InAFloodKnownNamesKeepTheirPlaceAndNewOnesFindOne) {
  config_ = {.max_bytes = 100'000, .shards = 1};
  Rule({.key = "a", .limit = PerUnit(20)});
  EXPECT_EQ(PassesOf(15, "a=busy"), 15);
  for (int i = 0; i < 2'000; ++i) Ask({"a=" + std::to_string(i)});
  EXPECT_GT(limiter().Counts().gave_way, 1'000u);
  EXPECT_EQ(PassesOf(15, "a=busy"), 5) << "it goes on where it was";
  EXPECT_GT(PassesOf(30, "a=newcomer"), 10) << "less than its limit, but its own";
  EXPECT_TRUE(Passes({"a=another"}));
  Pass(seconds(60));
  EXPECT_EQ(PassesOf(30, "a=newcomer"), 20) << "the next window begins with nothing";
  for (int i = 0; i < 80; ++i) Pass(seconds(2));
  EXPECT_EQ(limiter().Counts().bytes, 0u);
}

TEST_F(DescriptorLimiterTest, AFloodOfOneRuleTakesNoRoomFromTheOthers) {
  config_ = {.max_bytes = 200'000, .shards = 2};
  Rule({.key = "customer", .limit = PerUnit(50, LimitUnit::kPerDay)});
  Rule({.key = "address", .limit = PerUnit(3, LimitUnit::kPerSecond)});
  Rule({.key = "country", .limit = PerUnit(1, LimitUnit::kPerYear)});
  EXPECT_TRUE(Passes({"country=de"}));
  for (int i = 0; i < 5'000; ++i) Ask({"customer=" + std::to_string(i)});
  for (int second = 0; second < 3; ++second) {
    for (int i = 0; i < 100; ++i) EXPECT_EQ(PassesOf(5, "address=192.0.2." + std::to_string(i)), 3);
    Pass(seconds(1));
  }
  EXPECT_EQ(CountsOf("address").with_others, 0u);
  EXPECT_FALSE(Passes({"country=de"}));
  EXPECT_EQ(CountsOf("country").with_others, 0u);
}

TEST_F(DescriptorLimiterTest, ANameThatGaveWayToAnotherRuleIsNotFreed) {
  config_ = {.max_bytes = 100'000, .shards = 1};
  Rule({.key = "customer", .limit = PerUnit(2, LimitUnit::kPerDay)});
  Rule({.key = "address", .limit = PerUnit(3)});
  constexpr int kCustomers = 600;
  for (int i = 0; i < kCustomers; ++i) EXPECT_EQ(PassesOf(2, "customer=" + std::to_string(i)), 2);
  for (int i = 0; i < 300; ++i) EXPECT_TRUE(Passes({"address=" + std::to_string(i)}));
  EXPECT_GT(limiter().Counts().gave_way, 100u);
  for (int i = 0; i < kCustomers; ++i) EXPECT_FALSE(Passes({"customer=" + std::to_string(i)})) << i;
}

TEST_F(DescriptorLimiterTest, ARequestThatIsOverMakesNoNames) {
  Rule({.key = "address", .limit = PerUnit(1)});
  Rule({.key = "customer", .limit = PerUnit(9, LimitUnit::kPerDay)});
  Rule({.key = "quota", .limit = PerUnit(0), .quota_mode = true});
  EXPECT_TRUE(Passes({"address=1", "customer=1"}));
  for (int i = 0; i < 100; ++i) {
    const std::string customer = "customer=new" + std::to_string(i);
    EXPECT_FALSE(Passes({"address=1", customer}));
    EXPECT_FALSE(Passes({customer, "address=1"})) << "in whichever order they come";
  }
  EXPECT_EQ(limiter().Counts().names, 2u);
  EXPECT_EQ(CountsOf("customer").hits, 1u);
  EXPECT_FALSE(Passes({"address=1", "customer=1"}));
  EXPECT_EQ(CountsOf("customer").hits, 2u) << "names that are there are charged";
  Ask({"quota=1"});
  Ask({"quota=1", "customer=2"});
  EXPECT_EQ(limiter().Counts().names, 4u) << "a quota that is over refuses nothing by itself";
}

TEST_F(DescriptorLimiterTest, TellsOfWhichRuleIsCrowded) {
  std::set<std::string> told;
  config_ = {.max_bytes = 2'000, .shards = 1};
  config_.on_crowded = [&](std::string_view domain, std::string_view rule) {
    told.insert(std::string(domain) + ": " + std::string(rule));
  };
  Node* plan = Rule({.key = "plan", .value = "free"});
  Rule({.key = "customer", .limit = PerUnit(50)}, plan);
  for (int i = 0; i < 5; ++i) Ask({"plan=free/customer=" + std::to_string(i)});
  EXPECT_TRUE(told.empty());
  for (int i = 0; i < 100; ++i) Ask({"plan=free/customer=" + std::to_string(i)});
  EXPECT_EQ(told, std::set<std::string>{"d: plan_free.customer"});
  for (int i = 0; i < 100; ++i) Ask({{"x=" + std::to_string(i), std::nullopt, UnitLimit{1, LimitUnit::kPerDay}}});
  EXPECT_TRUE(told.contains("d: (overrides)"));
}

TEST_F(DescriptorLimiterTest, AClockThatStepsBackGivesNothingAway) {
  Rule({.key = "a", .limit = PerUnit(3)});
  EXPECT_EQ(PassesOf(2, "a=1"), 2);
  wall_clock_.Set(wall_clock_.Now() - seconds(1));  // back into the minute before
  EXPECT_EQ(PassesOf(5, "a=1"), 1) << "what was charged goes on counting";
  wall_clock_.Advance(seconds(1));
  EXPECT_EQ(PassesOf(5, "a=1"), 3) << "and ends with the window in which it was charged last";
}

TEST_F(DescriptorLimiterTest, AClockThatWasFarAheadDoesNotBlockForLong) {
  Rule({.key = "a", .limit = PerUnit(3)});
  const WallTime now = wall_clock_.Now();
  wall_clock_.Set(now + hours(24 * 400));
  EXPECT_EQ(PassesOf(5, "a=1"), 3);
  EXPECT_EQ(PassesOf(1, "a=2"), 1);
  wall_clock_.Set(now);
  EXPECT_EQ(PassesOf(5, "a=1"), 0);
  Pass(seconds(60));
  EXPECT_EQ(PassesOf(5, "a=1"), 3);
  for (int i = 0; i < 80; ++i) Pass(seconds(2));
  EXPECT_EQ(limiter().Counts().names, 0u) << "nor is it held until then";
}

TEST_F(DescriptorLimiterTest, NewRulesGoOnWithTheFormerCounts) {
  Rule({.key = "a", .limit = PerUnit(3)});
  Rule({.key = "b", .limit = PerUnit(3)});
  EXPECT_EQ(PassesOf(3, "a=1"), 3);
  EXPECT_EQ(PassesOf(3, "b=1"), 3);
  rules_ = std::make_shared<DescriptorRules>(limiter().rules().get());
  domain_ = nullptr;
  Rule({.key = "a", .limit = PerUnit(4)});
  Rule({.key = "b", .limit = PerUnit(3, LimitUnit::kPerHour)});
  limiter().SetRules(rules_);
  EXPECT_EQ(PassesOf(3, "a=1"), 1);
  EXPECT_EQ(PassesOf(5, "b=1"), 3) << "another unit is another window";
  EXPECT_EQ(CountsOf("a").hits, 6u);
}

}  // namespace
}  // namespace weir
