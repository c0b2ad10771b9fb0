// For every store: the limits of tiers.
#include <atomic>
#include <limits>
#include <thread>

#include "tests/throttle/limits/quota/store_suite.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using enum Limit::Unit;

TEST_P(QuotaStoreSuite, ARefusalChargesNoTier) {
  const TierCharge user{"user:alice", Window(kRequests, 5, hours(1))};
  const TierCharge all{"all", Window(kTokens, 500, hours(1))};
  const TierCharge instance{"instance:a", Window(kRequests, 1, hours(1))};
  const Ask ask{.tokens = 100, .quota = {{.max_rpm = 10}}, .tiers = {user, all, instance}, .tiers_before_model = 2};
  ASSERT_EQ(Take("gpt-4o", ask).code, QuotaCode::kOk);
  const ChargeAnswer refused = Take("gpt-4o", ask);
  EXPECT_EQ(refused.code, QuotaCode::kTierExceeded);
  EXPECT_EQ(refused.tier, 2U);
  ASSERT_EQ(refused.tiers.size(), 3U);
  EXPECT_EQ(refused.tiers[0].used, 1);
  EXPECT_EQ(refused.tiers[1].used, 100);
  EXPECT_EQ(refused.tiers[2].used, 1);
  EXPECT_EQ(refused.usage.rpm, 1);
  EXPECT_EQ(UsedOf("gpt-4o", user), 1);
  EXPECT_EQ(UsedOf("gpt-4o", all), 100);
}

TEST_P(QuotaStoreSuite, ARefusalByTheModelChargesNoTier) {
  const TierCharge user{"user:alice", Window(kRequests, 5, hours(1))};
  const Ask ask{.tokens = 60, .quota = {{.max_tpm = 100}}, .tiers = {user}, .tiers_before_model = 1};
  ASSERT_TRUE(Take("gpt-4o", ask).fits());
  ASSERT_EQ(Take("gpt-4o", ask).code, QuotaCode::kTpmExceeded);
  EXPECT_EQ(UsedOf("gpt-4o", user), 1);
}

TEST_P(QuotaStoreSuite, TiersStandBeforeAndAfterTheModel) {
  const TierCharge user{"user:alice", Window(kRequests, 1, hours(1))};
  const TierCharge instance{"instance:a", Window(kRequests, 1, hours(2))};
  Ask ask{.tokens = 60, .quota = {{.max_tpm = 100}}, .tiers = {user, instance}, .tiers_before_model = 1};
  ASSERT_TRUE(Take("gpt-4o", ask).fits());
  const ChargeAnswer by_user = Peek("gpt-4o", ask);
  EXPECT_EQ(by_user.code, QuotaCode::kTierExceeded);
  EXPECT_EQ(by_user.tier, 0U);
  EXPECT_EQ(by_user.retry_after, hours(2));  // the longest of the three
  ask.tiers_before_model = 0;
  EXPECT_EQ(Peek("gpt-4o", ask).code, QuotaCode::kTpmExceeded);
  clock_.Advance(kMinute);
  EXPECT_EQ(Peek("gpt-4o", ask).tier, 0U);
  clock_.Advance(hours(1) - kMinute);
  EXPECT_EQ(Peek("gpt-4o", ask).tier, 1U);
  ExpectFitsAfterRetry("gpt-4o", ask);
}

TEST_P(QuotaStoreSuite, AChargeTooLargeForATierIsRefusedBeforeAllElse) {
  const TierCharge user{"user:alice", Window(kRequests, 1, hours(1))};
  const TierCharge tokens{"all", Bucket(kTokens, 100, hours(1), 200)};
  ASSERT_TRUE(Take("gpt-4o", {.tokens = 50, .tiers = {user, tokens}}).fits());
  const ChargeAnswer answer =
      Peek("gpt-4o", {.tokens = 201, .quota = {{.max_rpm = 1}}, .tiers = {user, tokens}, .tiers_before_model = 1});
  EXPECT_EQ(answer.code, QuotaCode::kTooLarge);
  EXPECT_EQ(answer.tier, 1U);
  EXPECT_EQ(answer.unit, kTokens);
  EXPECT_FALSE(answer.retry_after);
  EXPECT_EQ(Peek("gpt-4o", {.tokens = 200, .tiers = {tokens}}).code, QuotaCode::kTierExceeded);
}

TEST_P(QuotaStoreSuite, AWindowOfATierEndsToThePoint) {
  const TierCharge tier{"user:alice", Window(kTokens, 100, hours(1))};
  ASSERT_TRUE(Take("gpt-4o", {.tokens = 70, .tiers = {tier}}).fits());
  clock_.Advance(seconds(100));
  ASSERT_TRUE(Take("gpt-4o", {.tokens = 30, .tiers = {tier}}).fits());
  EXPECT_EQ(Peek("gpt-4o", {.tokens = 70, .tiers = {tier}}).retry_after, hours(1) - seconds(100));
  EXPECT_EQ(Peek("gpt-4o", {.tokens = 71, .tiers = {tier}}).retry_after, hours(1));
  ExpectFitsAfterRetry("gpt-4o", {.tokens = 70, .tiers = {tier}});
  EXPECT_EQ(UsedOf("gpt-4o", tier), 30);
}

TEST_P(QuotaStoreSuite, ABucketBeginsFullAndHoldsItsBurst) {
  const TierCharge tier{"user:alice", Bucket(kTokens, 100, seconds(100), 250)};
  EXPECT_EQ(UsedOf("gpt-4o", tier), 0);
  EXPECT_EQ(Peek("gpt-4o", {.tokens = 251, .tiers = {tier}}).code, QuotaCode::kTooLarge);
  ASSERT_TRUE(Take("gpt-4o", {.tokens = 250, .tiers = {tier}}).fits());
  EXPECT_EQ(UsedOf("gpt-4o", tier), 250);
  clock_.Advance(milliseconds(2500));
  EXPECT_EQ(UsedOf("gpt-4o", tier), 248);  // 2.5 are refilled
  EXPECT_TRUE(Peek("gpt-4o", {.tokens = 2, .tiers = {tier}}).fits());
  EXPECT_EQ(Peek("gpt-4o", {.tokens = 3, .tiers = {tier}}).retry_after, milliseconds(500));
  ExpectFitsAfterRetry("gpt-4o", {.tokens = 250, .tiers = {tier}});
  clock_.Advance(seconds(50));
  EXPECT_EQ(UsedOf("gpt-4o", tier), 0);
  EXPECT_TRUE(Take("gpt-4o", {.tokens = 250, .tiers = {tier}}).fits());
  EXPECT_FALSE(Peek("gpt-4o", {.tokens = 1, .tiers = {tier}}).fits());
}

TEST_P(QuotaStoreSuite, ABucketLosesNoFraction) {
  // 7 in 3 s: one request every 428.571428… ms.
  const TierCharge tier{"user:alice", Bucket(kRequests, 7, seconds(3), 7)};
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(Take("gpt-4o", {.tiers = {tier}}).fits());
  int passed = 0;
  for (int i = 0; i < 300; ++i) {  // 30 s
    clock_.Advance(milliseconds(100));
    if (Take("gpt-4o", {.tiers = {tier}}).fits()) ++passed;
  }
  EXPECT_EQ(passed, 70);
}

TEST_P(QuotaStoreSuite, ABucketRetriesToThePoint) {
  const TierCharge tier{"user:alice", Bucket(kRequests, 7, seconds(3), 9)};
  for (int i = 0; i < 9; ++i) ASSERT_TRUE(Take("gpt-4o", {.tiers = {tier}}).fits());
  for (int i = 0; i < 5; ++i) {
    ExpectFitsAfterRetry("gpt-4o", {.tiers = {tier}});
    ASSERT_TRUE(Take("gpt-4o", {.tiers = {tier}}).fits());
  }
}

TEST_P(QuotaStoreSuite, ASmallerBurstTakesNothingFromABucket) {
  const TierCharge large{"user:alice", Bucket(kTokens, 100, seconds(100), 250)};
  const TierCharge small{"user:alice", Bucket(kTokens, 100, seconds(100), 100)};
  ASSERT_TRUE(Take("gpt-4o", {.tokens = 50, .tiers = {large}}).fits());
  EXPECT_EQ(UsedOf("gpt-4o", small), 50);
  EXPECT_FALSE(Peek("gpt-4o", {.tokens = 51, .tiers = {small}}).fits());
  EXPECT_TRUE(Take("gpt-4o", {.tokens = 200, .tiers = {large}}).fits());
}

TEST_P(QuotaStoreSuite, ForceTakesABucketBelowZero) {
  const TierCharge tier{"user:alice", Bucket(kTokens, 100, seconds(100), 100)};
  EXPECT_EQ(Force("gpt-4o", {.tokens = 130, .tiers = {tier}}).code, QuotaCode::kTooLarge);
  EXPECT_EQ(UsedOf("gpt-4o", tier), 130);
  EXPECT_EQ(Peek("gpt-4o", {.tokens = 1, .tiers = {tier}}).retry_after, seconds(31));
  ExpectFitsAfterRetry("gpt-4o", {.tokens = 1, .tiers = {tier}});
}

TEST_P(QuotaStoreSuite, AClockThatStepsBackFillsNoBucket) {
  const TierCharge tier{"user:alice", Bucket(kTokens, 100, seconds(100), 100)};
  ASSERT_TRUE(Take("gpt-4o", {.tokens = 100, .tiers = {tier}}).fits());
  clock_.Set(kStart - hours(1));
  EXPECT_EQ(UsedOf("gpt-4o", tier), 100);
  ASSERT_FALSE(Take("gpt-4o", {.tokens = 1, .tiers = {tier}}).fits());
  clock_.Advance(seconds(10));
  EXPECT_LE(UsedOf("gpt-4o", tier), 100);
  EXPECT_GE(UsedOf("gpt-4o", tier), 90);
}

TEST_P(QuotaStoreSuite, EachKeyModelUnitKindAndLengthHasItsOwnCount) {
  const TierCharge base{"user:alice", Window(kRequests, 10, hours(1))};
  ASSERT_TRUE(Take("gpt-4o", {.tokens = 5, .tiers = {base}}).fits());
  EXPECT_EQ(UsedOf("gpt-4o", base), 1);
  EXPECT_EQ(UsedOf("o1", base), 0);
  EXPECT_EQ(UsedOf("gpt-4o", {"user:bob", base.limit}), 0);
  EXPECT_EQ(UsedOf("gpt-4o", {"user:alice", Window(kTokens, 10, hours(1))}), 0);
  EXPECT_EQ(UsedOf("gpt-4o", {"user:alice", Window(kRequests, 10, hours(2))}), 0);
  EXPECT_EQ(UsedOf("gpt-4o", {"user:alice", Bucket(kRequests, 10, hours(1), 10)}), 0);
}

TEST_P(QuotaStoreSuite, AnotherAmountGoesOnWithTheSameCount) {
  const auto window = [](int64_t amount) { return TierCharge{"user:alice", Window(kRequests, amount, hours(1))}; };
  ASSERT_TRUE(Take("gpt-4o", {.tiers = {window(2)}}).fits());
  ASSERT_TRUE(Take("gpt-4o", {.tiers = {window(2)}}).fits());
  EXPECT_FALSE(Peek("gpt-4o", {.tiers = {window(2)}}).fits());
  EXPECT_TRUE(Take("gpt-4o", {.tiers = {window(3)}}).fits());
  EXPECT_EQ(UsedOf("gpt-4o", window(1)), 3);
  ExpectFitsAfterRetry("gpt-4o", {.tiers = {window(1)}});
}

TEST_P(QuotaStoreSuite, TiersLimitUnknownAndUnlimitedModelsToo) {
  const TierCharge tier{"user:alice", Window(kRequests, 1, hours(1))};
  EXPECT_EQ(Take("mystery", {.tiers = {tier}}).code, QuotaCode::kUnknownModel);
  EXPECT_EQ(Take("mystery", {.tiers = {tier}}).code, QuotaCode::kTierExceeded);
  EXPECT_EQ(Take("local", {.quota = ModelQuota(), .tiers = {tier}}).code, QuotaCode::kUnlimited);
  EXPECT_EQ(Take("local", {.quota = ModelQuota(), .tiers = {tier}}).code, QuotaCode::kTierExceeded);
  EXPECT_EQ(UsageOf("mystery").rpm, 1);
}

TEST_P(QuotaStoreSuite, ACountOfAllModelsIsOne) {
  if (!store().CountsAcrossModels()) GTEST_SKIP() << "keeps models apart";
  const TierCharge window{"total:tenant:acme", Window(kRequests, 2, hours(1)), true};
  const TierCharge bucket{"total:tenant:acme", Bucket(kTokens, 1000, hours(1), 1000), true};
  const Ask ask{.tokens = 100, .quota = {{.max_rpm = 10}}, .tiers = {window, bucket}, .tiers_before_model = 2};
  ASSERT_EQ(Take("gpt-4o", ask).code, QuotaCode::kOk);
  ASSERT_EQ(Take("o1", ask).code, QuotaCode::kOk);
  const ChargeAnswer refused = Take("o3-mini", ask);
  EXPECT_EQ(refused.code, QuotaCode::kTierExceeded);
  EXPECT_EQ(refused.tier, 0U);
  EXPECT_EQ(refused.retry_after, hours(1));
  EXPECT_EQ(refused.tiers.at(0).used, 2);
  EXPECT_EQ(UsageOf("o3-mini"), ModelUsage());
  EXPECT_EQ(UsedOf("anything", bucket), 200);
  EXPECT_EQ(UsedOf("gpt-4o", {window.key, window.limit}), 0) << "a model's own is another count";
  EXPECT_EQ(store().Models().value(), (std::vector<std::string>{"gpt-4o", "o1"}));
}

TEST_P(QuotaStoreSuite, ARefusalByTheModelChargesNothingOfAllModels) {
  if (!store().CountsAcrossModels()) GTEST_SKIP() << "keeps models apart";
  const TierCharge total{"total:tenant:acme", Window(kRequests, 9, hours(1)), true};
  const Ask ask{.tokens = 60, .quota = {{.max_tpm = 100}}, .tiers = {total}, .tiers_before_model = 1};
  ASSERT_TRUE(Take("gpt-4o", ask).fits());
  ASSERT_EQ(Take("gpt-4o", ask).code, QuotaCode::kTpmExceeded);
  EXPECT_EQ(UsedOf("o1", total), 1);
}

TEST_P(QuotaStoreSuite, ReservationsAreSettledInTheCountOfAllModels) {
  if (!store().CountsAcrossModels()) GTEST_SKIP() << "keeps models apart";
  const TierCharge total{"total:tenant:acme", Window(kTokens, 1000, hours(9)), true};
  const Ask ask{.tokens = 300, .tiers = {total}, .hold_for = seconds(10)};
  const std::string less = Hold("gpt-4o", ask).reservation;
  const std::string refunded = Hold("o1", ask).reservation;
  const std::string expired = Hold("o3-mini", ask).reservation;
  EXPECT_TRUE(Hold("o4", ask).reservation.empty());
  ASSERT_EQ(Commit(less, 100).code, SettlementAnswer::Code::kSettled);
  ASSERT_EQ(Refund(refunded).code, SettlementAnswer::Code::kSettled);
  EXPECT_EQ(UsedOf("o1", total), 400);
  clock_.Advance(seconds(10));
  store().Prune();
  EXPECT_EQ(UsageOf("o3-mini").open_reservations, 0);
  EXPECT_EQ(UsedOf("o1", total), 100);
  EXPECT_TRUE(Commit(expired, 350).late);
  EXPECT_EQ(UsedOf("o1", total), 450);
}

TEST_P(QuotaStoreSuite, ManyThreadsOnManyModelsNeverTakeMoreThanTheirTotal) {
  if (!store().CountsAcrossModels()) GTEST_SKIP() << "keeps models apart";
  const TierCharge total{"total:tenant:acme", Window(kRequests, 60, hours(1)), true};
  std::atomic<int64_t> taken{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&, model = "model-" + std::to_string(i)] {
        for (int n = 0; n < 40; ++n) {
          const ChargeAnswer answer = n % 2 == 0 ? Take(model, {.tiers = {total}}) : Hold(model, {.tiers = {total}});
          if (!answer.fits()) continue;
          if (n % 2 == 0 || Commit(answer.reservation, 1).code == SettlementAnswer::Code::kSettled) ++taken;
        }
      });
  }
  EXPECT_EQ(taken, 60);
  EXPECT_EQ(UsedOf("model-0", total), 60);
}

TEST_P(QuotaStoreSuite, ForceChargesAllTiers) {
  const TierCharge first{"user:alice", Window(kRequests, 1, hours(1))};
  const TierCharge second{"all", Window(kTokens, 100, hours(1))};
  for (int i = 0; i < 3; ++i) Force("gpt-4o", {.tokens = 60, .tiers = {first, second}});
  const ChargeAnswer answer = Peek("gpt-4o", {.tokens = 1, .tiers = {first, second}});
  EXPECT_EQ(answer.code, QuotaCode::kTierExceeded);
  EXPECT_EQ(answer.tier, 0U);
  EXPECT_EQ(answer.tiers[0].used, 3);
  EXPECT_EQ(answer.tiers[1].used, 180);
}

TEST_P(QuotaStoreSuite, TiersTakeAmountsAtTheEdgeOf64Bits) {
  constexpr int64_t kMost64 = std::numeric_limits<int64_t>::max();
  for (const Limit::Unit unit : {kTokens, kMoney}) {
    const TierCharge window{"a", Window(unit, kMostAmount, hours(24 * 366))};
    const TierCharge bucket{"b", Bucket(unit, kMostAmount, hours(24 * 366), kMostAmount)};
    const Ask ask{.tokens = kMost64, .money = kMost64, .tiers = {window, bucket}};
    EXPECT_TRUE(Take("gpt-4o", ask).fits());
    EXPECT_EQ(Take("gpt-4o", ask).code, QuotaCode::kTierExceeded);
    for (int i = 0; i < 30; ++i) {
      const ChargeAnswer answer = Force("gpt-4o", ask);
      EXPECT_EQ(answer.tiers.at(0).used, kMostAmount);
      EXPECT_EQ(answer.tiers.at(1).used, kMostAmount);
    }
  }
}

TEST_P(QuotaStoreSuite, NegativeAmountsGiveNoTierRoom) {
  for (const Limit::Unit unit : {kTokens, kMoney}) {
    const TierCharge window{"a", Window(unit, 10, hours(1))};
    const TierCharge bucket{"b", Bucket(unit, 10, hours(1), 10)};
    ASSERT_TRUE(Take("gpt-4o", {.tokens = 5, .money = 5, .tiers = {window, bucket}}).fits());
    for (const int64_t negative : {int64_t{-3}, std::numeric_limits<int64_t>::min()}) {
      const Ask ask{.tokens = negative, .money = negative, .tiers = {window, bucket}};
      EXPECT_TRUE(Take("gpt-4o", ask).fits());
      EXPECT_TRUE(Force("gpt-4o", ask).fits());
      EXPECT_EQ(Commit(Hold("gpt-4o", ask).reservation, negative, negative).code, SettlementAnswer::Code::kSettled);
    }
    EXPECT_EQ(UsedOf("gpt-4o", window), 5);
    EXPECT_EQ(UsedOf("gpt-4o", bucket), 5);
  }
}

}  // namespace
}  // namespace weir
