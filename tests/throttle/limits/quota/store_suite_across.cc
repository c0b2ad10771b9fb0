// For every store: reservations that hold counts for all models, when only other models are asked for.
#include <string>
#include <vector>

#include "tests/throttle/limits/quota/store_suite.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using enum Limit::Unit;
using Code = SettlementAnswer::Code;

const TierCharge kTotalCalls{"user:alice", {.unit = kCalls, .amount = 2, .per = kCallCounts}, true};
const TierCharge kTotalTokens{"user:alice", Window(kTokens, 900, hours(9)), true};
const TierCharge kTotalMoney{"user:alice", Window(kMoney, 500, hours(24 * 31)), true};

TEST_P(QuotaStoreSuite, AnExpiredReservationBlocksNoOtherModel) {
  if (!store().CountsAcrossModels()) GTEST_SKIP() << "keeps models apart";
  for (const TierCharge& total : {kTotalCalls, kTotalTokens, kTotalMoney}) {
    const Ask ask{.tokens = 450, .money = 250, .tiers = {total}, .hold_for = seconds(1)};
    ASSERT_TRUE(Hold("rare", ask).fits());
    ASSERT_TRUE(Hold("rare", ask).fits());
    clock_.Advance(seconds(1) - GetParam().resolution);
    EXPECT_FALSE(Hold("gpt-4o", ask).fits());
    clock_.Advance(GetParam().resolution);
    EXPECT_TRUE(Peek("gpt-4o", ask).fits());
    const std::string held = Hold("gpt-4o", ask).reservation;
    ASSERT_FALSE(held.empty());
    ASSERT_EQ(Refund(held).code, Code::kSettled);
    EXPECT_EQ(UsedOf("gpt-4o", total), 0);
  }
  EXPECT_EQ(store().Health().expired_reservations, 6U);
}

TEST_P(QuotaStoreSuite, GivesBackEachReservationAtItsDeadlineForAnyModel) {
  if (!store().CountsAcrossModels()) GTEST_SKIP() << "keeps models apart";
  const auto hold = [&](std::string_view model, int64_t tokens, Duration hold_for) {
    return Hold(model, {.tokens = tokens, .tiers = {kTotalTokens}, .hold_for = hold_for}).reservation;
  };
  hold("a", 1, seconds(30));
  hold("b", 2, seconds(10));
  hold("b", 4, seconds(20));
  hold("b", 8, seconds(5));
  const std::string settled = hold("c", 300, seconds(10));
  const std::string extended = hold("d", 16, seconds(10));
  ASSERT_EQ(Commit(settled, 32).code, Code::kSettled);
  ASSERT_EQ(Extend(extended, seconds(40)).code, Code::kSettled);
  const std::vector<int64_t> after = {63, 55, 53, 53, 49, 49, 48, 48, 32};  // at steps of 5 s
  for (const int64_t used : after) {
    EXPECT_EQ(UsedOf("e", kTotalTokens), used) << "after " << (clock_.Now() - kStart).count() << " ns";
    hold("d", 0, hours(1));
    clock_.Advance(seconds(5));
  }
}

TEST_P(QuotaStoreSuite, GivesBackDueReservationsOfManyModelsInPortions) {
  if (!store().CountsAcrossModels()) GTEST_SKIP() << "keeps models apart";
  for (int i = 0; i < 300; ++i)
    ASSERT_TRUE(Hold("model-" + std::to_string(i), {.tokens = 3, .tiers = {kTotalTokens}}).fits());
  clock_.Advance(seconds(10));
  for (int i = 0; i < 3; ++i) UsedOf("gpt-4o", kTotalTokens);
  EXPECT_EQ(UsedOf("gpt-4o", kTotalTokens), 0);
  EXPECT_EQ(store().Health().expired_reservations, 300U);
}

TEST_P(QuotaStoreSuite, PruneGivesBackReservationsOfUnusedModels) {
  if (!store().CountsAcrossModels()) GTEST_SKIP() << "keeps models apart";
  ASSERT_TRUE(Hold("rare", {.tokens = 300, .tiers = {kTotalTokens}, .hold_for = seconds(1)}).fits());
  store().Prune();
  EXPECT_EQ(store().Health().expired_reservations, 0U);
  clock_.Advance(seconds(1));
  store().Prune();
  EXPECT_EQ(store().Health().expired_reservations, 1U);
}

TEST_P(QuotaStoreSuite, ANameThatIsForgottenMayReserveOfTheCountOfAllAgain) {
  if (!store().CountsAcrossModels()) GTEST_SKIP() << "keeps models apart";
  const Ask ask{.tokens = 300, .tiers = {kTotalTokens}, .token = NamedReservationToken({"alice", "key-1"})};
  const std::string expired = Hold("gpt-4o", ask).reservation;
  clock_.Advance(seconds(10));
  EXPECT_TRUE(Hold("gpt-4o", ask).again);
  clock_.Advance(kExpiredKept);
  const ChargeAnswer second = Hold("gpt-4o", ask);
  EXPECT_FALSE(second.again);
  EXPECT_EQ(second.reservation, expired);
  EXPECT_EQ(UsedOf("o1", kTotalTokens), 300);
}

TEST_P(QuotaStoreSuite, AResetGivesBackTheModelsHoldsOfSharedCounts) {
  if (!store().CountsAcrossModels()) GTEST_SKIP() << "keeps models apart";
  const Ask ask{.tokens = 300, .money = 200, .tiers = {kTotalTokens, kTotalMoney, kTotalCalls}, .hold_for = hours(1)};
  ASSERT_TRUE(Take("gpt-4o", {.tokens = 5, .money = 4, .tiers = ask.tiers}).fits());
  ASSERT_TRUE(Take("o1", {.tokens = 50, .money = 40, .tiers = ask.tiers}).fits());
  const std::string untold = Hold("gpt-4o", ask).reservation;
  const std::string told = Hold("gpt-4o", ask).reservation;
  ASSERT_EQ(CommitSoFar(told, 100, 70).code, Code::kSettled);
  EXPECT_FALSE(Hold("o1", {.tiers = {kTotalCalls}}).fits());

  ASSERT_TRUE(store().Reset("gpt-4o").ok());
  EXPECT_EQ(UsedOf("o1", kTotalTokens), 155) << "what was used stays, and what was told of the use";
  EXPECT_EQ(UsedOf("o1", kTotalMoney), 114);
  EXPECT_EQ(UsedOf("o1", kTotalCalls), 0);
  for (const std::string& forgotten : {untold, told}) EXPECT_EQ(Commit(forgotten, 1).code, Code::kUnknown);
  EXPECT_EQ(UsageOf("gpt-4o"), ModelUsage());
  clock_.Advance(hours(1));
  EXPECT_EQ(UsedOf("o1", kTotalTokens), 155) << "nothing is given back twice";

  ASSERT_TRUE(store().Reset("").ok());
  EXPECT_EQ(UsedOf("o1", kTotalTokens), 0);
  EXPECT_TRUE(Take("o1", {.tokens = 900, .tiers = {kTotalTokens}}).fits());
}

TEST_P(QuotaStoreSuite, AResetGivesBackHoweverManyAreOpen) {
  if (!store().CountsAcrossModels()) GTEST_SKIP() << "keeps models apart";
  const TierCharge total{"user:alice", Window(kTokens, 1'000'000, hours(9)), true};
  constexpr auto kOpen = static_cast<int64_t>(kMostExpiredAtOnce + 100);
  for (int64_t i = 0; i < kOpen; ++i)
    ASSERT_TRUE(Hold("gpt-4o", {.tokens = 2, .tiers = {total}, .hold_for = hours(1)}).fits());
  EXPECT_EQ(UsedOf("o1", total), 2 * kOpen);
  ASSERT_TRUE(store().Reset("gpt-4o").ok());
  EXPECT_EQ(UsedOf("o1", total), 0);
  EXPECT_EQ(UsageOf("gpt-4o").open_reservations, 0);
}

TEST_P(QuotaStoreSuite, AResetFreesTheNamesThatItsReservationsHeld) {
  if (!store().CountsAcrossModels()) GTEST_SKIP() << "keeps models apart";
  Open({.max_tier_keys = 1});
  const TierCharge total{"a", Window(kTokens, 500, seconds(30)), true};
  const Ask ask{.tokens = 3, .tiers = {total}};
  ASSERT_TRUE(Hold("gpt-4o", ask).charged);
  clock_.Advance(seconds(10));
  ASSERT_TRUE(Hold("gpt-4o", ask).charged) << "and the first has expired";
  ASSERT_TRUE(store().Reset("gpt-4o").ok());
  clock_.Advance(hours(3));
  EXPECT_TRUE(Take("gpt-4o", {.tiers = {{"b", Window(kRequests, 5, hours(1))}}}).fits());
}

}  // namespace
}  // namespace weir
