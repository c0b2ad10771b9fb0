// For every store: the quota of a model.
#include <limits>

#include "tests/throttle/limits/quota/store_suite.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr int64_t kMost64 = std::numeric_limits<int64_t>::max();

TEST_P(QuotaStoreSuite, TakesAreCounted) {
  const ChargeAnswer answer = Take("gpt-4o", {.tokens = 900, .quota = {{.max_rpm = 5, .max_tpm = 1000}}});
  EXPECT_EQ(answer.code, QuotaCode::kOk);
  EXPECT_EQ(answer.usage, (ModelUsage{.rpm = 1, .tpm = 900, .rpd = 1, .day_start = kStart}));
  EXPECT_EQ(UsageOf("gpt-4o"), answer.usage);
}

TEST_P(QuotaStoreSuite, AskingChargesNothing) {
  EXPECT_EQ(Peek("gpt-4o", {.tokens = 900, .quota = {{.max_tpm = 1000}}}).code, QuotaCode::kOk);
  EXPECT_EQ(UsageOf("gpt-4o"), ModelUsage());
  EXPECT_TRUE(store().Models().value().empty());
}

TEST_P(QuotaStoreSuite, AnEntryCountsForExactlyItsWindow) {
  for (const Ask& ask : {Ask{.tokens = 600, .quota = {{.max_tpm = 1000}}}, Ask{.quota = {{.max_rpm = 1}}}}) {
    Open({});
    ASSERT_EQ(Take("gpt-4o", ask).code, QuotaCode::kOk);
    EXPECT_FALSE(Peek("gpt-4o", ask).fits());
    clock_.Advance(kMinute - GetParam().resolution);
    EXPECT_FALSE(Peek("gpt-4o", ask).fits());
    clock_.Advance(GetParam().resolution);
    EXPECT_TRUE(Peek("gpt-4o", ask).fits());
  }
}

TEST_P(QuotaStoreSuite, AChargeThatFillsTheQuotaExactlyFits) {
  const ModelQuota quota{.max_rpm = 2, .max_tpm = 1000, .max_rpd = 2};
  EXPECT_EQ(Take("gpt-4o", {.tokens = 400, .quota = quota}).code, QuotaCode::kOk);
  EXPECT_EQ(Peek("gpt-4o", {.tokens = 601, .quota = quota}).code, QuotaCode::kTpmExceeded);
  EXPECT_EQ(Take("gpt-4o", {.tokens = 600, .quota = quota}).code, QuotaCode::kOk);
}

TEST_P(QuotaStoreSuite, TheFirstLimitInOrderIsNamed) {
  ASSERT_TRUE(Take("gpt-4o", {.tokens = 100}).fits());
  struct Case {
    ModelQuota quota;
    QuotaCode code;
  };
  for (const Case& c : {
           Case{{.max_rpm = 1, .max_tpm = 100, .max_rpd = 1}, QuotaCode::kRpdExceeded},
           Case{{.max_rpm = 1, .max_tpm = 100, .max_rpd = 2}, QuotaCode::kRpmExceeded},
           Case{{.max_rpm = 2, .max_tpm = 100, .max_rpd = 2}, QuotaCode::kTpmExceeded},
           Case{{.max_rpm = 2, .max_tpm = 110, .max_rpd = 2}, QuotaCode::kOk},
           Case{{.max_rpm = 1, .max_tpm = 9, .max_rpd = 1}, QuotaCode::kTooLarge},
       }) {
    const ChargeAnswer answer = Peek("gpt-4o", {.tokens = 10, .quota = c.quota});
    EXPECT_EQ(answer.code, c.code) << Describe(c.quota);
    EXPECT_EQ(answer.quota, c.quota);
    EXPECT_FALSE(answer.tier);
  }
}

TEST_P(QuotaStoreSuite, ATooLargeChargeHasNoRetry) {
  const ModelQuota quota{.max_rpm = 1, .max_tpm = 1000, .max_rpd = 1};
  const ChargeAnswer answer = Take("gpt-4o", {.tokens = 1001, .quota = quota});
  EXPECT_EQ(answer.code, QuotaCode::kTooLarge);
  EXPECT_EQ(answer.unit, Limit::Unit::kTokens);
  EXPECT_FALSE(answer.retry_after);
  EXPECT_EQ(UsageOf("gpt-4o"), ModelUsage());
}

TEST_P(QuotaStoreSuite, RetryAfterIsToThePoint) {
  const ModelQuota quota{.max_tpm = 1000};
  for (const int64_t tokens : {300, 200, 400, 100}) {
    ASSERT_TRUE(Take("gpt-4o", {.tokens = tokens, .quota = quota}).fits());
    clock_.Advance(seconds(7));
  }
  // The first leaves at 60 s, the second at 67 s: 28 s have passed.
  EXPECT_EQ(Peek("gpt-4o", {.tokens = 300, .quota = quota}).retry_after, seconds(32));
  EXPECT_EQ(Peek("gpt-4o", {.tokens = 301, .quota = quota}).retry_after, seconds(39));
  EXPECT_EQ(Peek("gpt-4o", {.tokens = 1000, .quota = quota}).retry_after, seconds(53));
  ExpectFitsAfterRetry("gpt-4o", {.tokens = 301, .quota = quota});
  ExpectFitsAfterRetry("gpt-4o", {.tokens = 1000, .quota = quota});
}

TEST_P(QuotaStoreSuite, RetryAfterIsThatOfTheLimitThatTakesLongest) {
  const ModelQuota quota{.max_rpm = 2, .max_tpm = 100};
  ASSERT_TRUE(Take("gpt-4o", {.tokens = 10, .quota = quota}).fits());
  clock_.Advance(seconds(10));
  ASSERT_TRUE(Take("gpt-4o", {.tokens = 90, .quota = quota}).fits());
  const ChargeAnswer answer = Peek("gpt-4o", {.tokens = 95, .quota = quota});
  EXPECT_EQ(answer.code, QuotaCode::kRpmExceeded);
  EXPECT_EQ(answer.retry_after, seconds(60));  // the limit of requests alone would give 50 s
  ExpectFitsAfterRetry("gpt-4o", {.tokens = 95, .quota = quota});
}

TEST_P(QuotaStoreSuite, ADayBeginsWithItsFirstRequestAndLasts24Hours) {
  const Ask ask{.quota = {{.max_rpd = 2}}};
  ASSERT_TRUE(Take("gpt-4o", ask).fits());
  clock_.Advance(hours(23));
  ASSERT_TRUE(Take("gpt-4o", ask).fits());
  const ChargeAnswer refused = Take("gpt-4o", ask);
  EXPECT_EQ(refused.code, QuotaCode::kRpdExceeded);
  EXPECT_EQ(refused.retry_after, hours(1));
  EXPECT_EQ(refused.usage.day_start, kStart);
  ExpectFitsAfterRetry("gpt-4o", ask);
  EXPECT_EQ(UsageOf("gpt-4o"), ModelUsage());
  clock_.Advance(hours(5));
  EXPECT_EQ(Take("gpt-4o", ask).usage.day_start, kStart + hours(29));
}

TEST_P(QuotaStoreSuite, AnUnknownModelIsCountedUnlessItIsRefused) {
  const ChargeAnswer taken = Take("mystery", {.tokens = 5});
  EXPECT_EQ(taken.code, QuotaCode::kUnknownModel);
  EXPECT_TRUE(taken.fits());
  EXPECT_FALSE(taken.quota);
  EXPECT_EQ(taken.usage.tpm, 5);
  const ChargeAnswer refused = Take("mystery", {.tokens = 5, .refuse_unknown = true});
  EXPECT_EQ(refused.code, QuotaCode::kUnknownModel);
  EXPECT_EQ(refused.usage.tpm, 5);
  EXPECT_TRUE(Hold("mystery", {.tokens = 5, .refuse_unknown = true}).reservation.empty());
  EXPECT_EQ(Force("mystery", {.tokens = 5, .refuse_unknown = true}).usage.tpm, 10);
}

TEST_P(QuotaStoreSuite, UnlimitedModelsAreCountedToo) {
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(Take("local", {.tokens = kMostAmount / 10, .quota = ModelQuota()}).code, QuotaCode::kUnlimited);
  EXPECT_EQ(UsageOf("local"), (ModelUsage{.rpm = 3, .tpm = kMostAmount / 10 * 3, .rpd = 3, .day_start = kStart}));
}

TEST_P(QuotaStoreSuite, AStatedQuotaComesBeforeTheDefault) {
  const ModelQuota stated{.max_tpm = 100};
  const Ask ask{.tokens = 200, .quota = {{.max_tpm = 1000}}};
  ASSERT_TRUE(store().SetQuota("gpt-4o", stated).ok());
  EXPECT_EQ(Peek("gpt-4o", ask).code, QuotaCode::kTooLarge);
  EXPECT_EQ(Peek("gpt-4o", ask).quota, stated);
  EXPECT_EQ(Peek("gpt-4o", {.tokens = 200}).code, QuotaCode::kTooLarge);

  ASSERT_TRUE(store().SetQuota("gpt-4o", ModelQuota{.max_tpm = 500}).ok());
  EXPECT_EQ(Take("gpt-4o", ask).code, QuotaCode::kOk);
  ASSERT_TRUE(store().SetQuota("gpt-4o", ModelQuota()).ok());
  EXPECT_EQ(Peek("gpt-4o", ask).code, QuotaCode::kUnlimited);
  ASSERT_TRUE(store().SetQuota("gpt-4o", {}).ok());
  EXPECT_EQ(Peek("gpt-4o", ask).quota, ask.quota);
  EXPECT_EQ(Peek("gpt-4o", {}).code, QuotaCode::kUnknownModel);
  EXPECT_EQ(UsageOf("gpt-4o").tpm, 200);
}

TEST_P(QuotaStoreSuite, ForceChargesAndSaysWhetherItWouldHaveFit) {
  const ModelQuota quota{.max_rpm = 10, .max_tpm = 1000};
  EXPECT_EQ(Force("gpt-4o", {.tokens = 900, .quota = quota}).code, QuotaCode::kOk);
  const ChargeAnswer over = Force("gpt-4o", {.tokens = 200, .quota = quota});
  EXPECT_EQ(over.code, QuotaCode::kTpmExceeded);
  EXPECT_EQ(over.retry_after, kMinute);
  EXPECT_EQ(over.usage.tpm, 1100);
  EXPECT_EQ(Force("gpt-4o", {.tokens = 5000, .quota = quota}).code, QuotaCode::kTooLarge);
  EXPECT_EQ(UsageOf("gpt-4o").tpm, 6100);
  EXPECT_EQ(UsageOf("gpt-4o").rpm, 3);
  ExpectFitsAfterRetry("gpt-4o", {.tokens = 1, .quota = quota});
}

TEST_P(QuotaStoreSuite, AFullLimitRefusesOnlyChargesThatAskForIt) {
  const ModelQuota quota{.max_rpm = 10, .max_tpm = 1000};
  ASSERT_TRUE(Take("gpt-4o", {.tokens = 1000, .quota = quota}).fits());
  ASSERT_FALSE(Force("gpt-4o", {.tokens = 1000, .quota = quota}).fits());
  EXPECT_EQ(Take("gpt-4o", {.tokens = 0, .quota = quota}).code, QuotaCode::kOk);
  EXPECT_EQ(Peek("gpt-4o", {.quota = {{.max_rpm = 1}}, .requests = 0}).code, QuotaCode::kOk);
  EXPECT_EQ(Take("gpt-4o", {.tokens = 0, .quota = quota, .requests = 0}).usage.rpm, 3);
  EXPECT_EQ(UsageOf("gpt-4o").tpm, 2000);
}

TEST_P(QuotaStoreSuite, AmountsAtTheEdgeOf64BitsAreCutDown) {
  const ModelQuota quota{.max_rpm = kMost64, .max_tpm = kMost64, .max_rpd = kMost64};
  EXPECT_EQ(Take("gpt-4o", {.tokens = kMost64, .quota = quota}).code, QuotaCode::kOk);
  EXPECT_EQ(UsageOf("gpt-4o").tpm, kMostAmount);
  EXPECT_EQ(Take("gpt-4o", {.tokens = 1, .quota = quota}).code, QuotaCode::kTpmExceeded);
  for (int i = 0; i < 30; ++i) EXPECT_EQ(Force("gpt-4o", {.tokens = kMost64, .quota = quota}).usage.tpm, kMostAmount);
  EXPECT_EQ(Peek("gpt-4o", {.tokens = kMost64, .quota = {{.max_tpm = kMostAmount - 1}}}).code, QuotaCode::kTooLarge);
  ExpectFitsAfterRetry("gpt-4o", {.tokens = kMost64, .quota = quota});
  EXPECT_EQ(UsageOf("gpt-4o").tpm, 0);
}

TEST_P(QuotaStoreSuite, AfterAStepBackFutureEntriesCountAsOfNow) {
  const Ask ask{.tokens = 600, .quota = {{.max_tpm = 1000}}};
  clock_.Advance(hours(3));
  ASSERT_TRUE(Take("gpt-4o", ask).fits());
  clock_.Set(kStart);
  EXPECT_EQ(Peek("gpt-4o", ask).retry_after, kMinute);
  EXPECT_EQ(UsageOf("gpt-4o").day_start, kStart);
  clock_.Advance(seconds(20));
  EXPECT_EQ(Peek("gpt-4o", ask).retry_after, seconds(40));
  ExpectFitsAfterRetry("gpt-4o", ask);
  clock_.Set(kStart + kDay);
  EXPECT_EQ(UsageOf("gpt-4o"), ModelUsage());
}

TEST_P(QuotaStoreSuite, WhenTheClockStepsBackTheOrderOfTheRestStays) {
  const ModelQuota quota{.max_tpm = 1000};
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(Take("gpt-4o", {.tokens = 250, .quota = quota}).fits());
    clock_.Advance(seconds(10));
  }
  clock_.Set(kStart + seconds(15));  // entries at 0 s and 10 s stay; those at 20 s and 30 s are now at 15 s
  EXPECT_EQ(Peek("gpt-4o", {.tokens = 250, .quota = quota}).retry_after, seconds(45));
  EXPECT_EQ(Peek("gpt-4o", {.tokens = 500, .quota = quota}).retry_after, seconds(55));
  EXPECT_EQ(Peek("gpt-4o", {.tokens = 750, .quota = quota}).retry_after, seconds(60));
  ExpectFitsAfterRetry("gpt-4o", {.tokens = 501, .quota = quota});
}

TEST_P(QuotaStoreSuite, WhenTheClockStepsForwardTimeHasPassed) {
  ASSERT_TRUE(Take("gpt-4o", {.tokens = 600}).fits());
  clock_.Advance(hours(24 * 365));
  EXPECT_EQ(UsageOf("gpt-4o"), ModelUsage());
  ASSERT_TRUE(Take("gpt-4o", {.tokens = 7}).fits());
  EXPECT_EQ(UsageOf("gpt-4o").tpm, 7);
}

TEST_P(QuotaStoreSuite, ConfiguredQuotasAreKnownAsSuchUntilStatedOtherwise) {
  using Names = std::vector<std::string>;
  ASSERT_TRUE(store().StateQuota("gpt-4o", {.max_rpm = 5}).ok());
  ASSERT_TRUE(store().StateQuota("o1", {.max_rpm = 6}).ok());
  ASSERT_TRUE(store().SetQuota("by hand", ModelQuota{.max_rpm = 7}).ok());
  ASSERT_TRUE(Take("o1", {}).fits());
  EXPECT_EQ(Peek("o1", {}).quota, ModelQuota{.max_rpm = 6});
  EXPECT_EQ(store().StatedByConfiguration().value(), (Names{"gpt-4o", "o1"}));
  if (tested_.open_another) {
    EXPECT_EQ(tested_.open_another()->StatedByConfiguration().value(), (Names{"gpt-4o", "o1"}));
  }
  ASSERT_TRUE(store().Reset("").ok());
  const QuotaState state = store().Export().value();
  ASSERT_TRUE(store().Import(state).ok());
  EXPECT_EQ(store().Export().value(), state);
  EXPECT_EQ(store().StatedByConfiguration().value(), (Names{"gpt-4o", "o1"}));
  ASSERT_TRUE(store().SetQuota("o1", ModelQuota{.max_rpm = 6}).ok());
  EXPECT_EQ(store().StatedByConfiguration().value(), Names{"gpt-4o"});
  ASSERT_TRUE(store().SetQuota("gpt-4o", {}).ok());
  EXPECT_EQ(store().StatedByConfiguration().value(), Names());
  EXPECT_EQ(store().Models().value(), (Names{"by hand", "o1"}));
}

}  // namespace
}  // namespace weir
