// For every store: days and months of the calendar.
#include "tests/throttle/limits/quota/store_suite.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using enum Limit::Unit;

TEST_P(QuotaStoreSuite, ACalendarDayIsCountedUntilItsEndAndThenAnew) {
  const WallTime midnight = kStart + hours(5);
  const TierCharge today{"user:alice", Day(kTokens, 100, midnight)};
  const TierCharge tomorrow{"user:alice", Day(kTokens, 100, midnight + hours(24))};
  ASSERT_TRUE(Take("m", {.tokens = 60, .tiers = {today}}).fits());
  clock_.Advance(hours(3));
  ASSERT_TRUE(Take("m", {.tokens = 40, .tiers = {today}}).fits());
  const ChargeAnswer refused = Take("m", {.tokens = 1, .tiers = {today}});
  EXPECT_EQ(refused.code, QuotaCode::kTierExceeded);
  EXPECT_EQ(refused.retry_after, hours(2));
  EXPECT_EQ(refused.tiers.at(0).used, 100);
  const ChargeAnswer never = Take("m", {.tokens = 101, .tiers = {today}});
  EXPECT_EQ(never.code, QuotaCode::kTooLarge);
  EXPECT_FALSE(never.retry_after);
  clock_.Advance(hours(2));
  EXPECT_EQ(UsedOf("m", tomorrow), 0);
  EXPECT_TRUE(Take("m", {.tokens = 100, .tiers = {tomorrow}}).fits());
}

TEST_P(QuotaStoreSuite, AMonthIsNoDayThatEndsWithIt) {
  const TierCharge day{"user:alice", Day(kRequests, 1, kStart + hours(5))};
  TierCharge month = day;
  month.limit.kind = Limit::Kind::kCalendarMonth;
  ASSERT_TRUE(Take("m", {.tiers = {day}}).fits());
  EXPECT_EQ(Take("m", {.tiers = {day}}).code, QuotaCode::kTierExceeded);
  EXPECT_TRUE(Take("m", {.tiers = {month}}).fits());
}

// A day's end moves like this when the configuration gets another time zone.
TEST_P(QuotaStoreSuite, ADayWhoseEndMovesGoesOnWithItsCount) {
  const WallTime midnight = kStart + hours(5);
  const TierCharge today{"user:alice", Day(kTokens, 100, midnight)};
  TierCharge longer = today;
  longer.limit.per += hours(9);
  TierCharge shorter = today;
  shorter.limit.per -= hours(2);
  ASSERT_TRUE(Take("m", {.tokens = 50, .tiers = {today}}).fits());
  const std::string held = Hold("m", {.tokens = 20, .tiers = {today}, .hold_for = hours(9)}).reservation;
  EXPECT_EQ(UsedOf("m", shorter), 70);
  EXPECT_EQ(Take("m", {.tokens = 31, .tiers = {shorter}}).retry_after, hours(3));
  EXPECT_EQ(Take("m", {.tokens = 31, .tiers = {longer}}).retry_after, hours(14));
  ASSERT_TRUE(Take("m", {.tokens = 20, .tiers = {longer}}).fits());
  clock_.Advance(hours(8));
  store().Prune();
  EXPECT_EQ(UsedOf("m", longer), 90) << "kept until an hour after its later end";
  ASSERT_EQ(Commit(held, 30).code, SettlementAnswer::Code::kSettled);
  store().Prune();
  EXPECT_EQ(UsedOf("m", longer), 100);
}

TEST_P(QuotaStoreSuite, AReservationIsSettledInTheDayInWhichItWasMade) {
  const WallTime midnight = kStart + seconds(30);
  const TierCharge today{"user:alice", Day(kTokens, 1000, midnight)};
  const TierCharge tomorrow{"user:alice", Day(kTokens, 1000, midnight + hours(24))};
  const Ask ask{.tokens = 200, .tiers = {today}, .hold_for = minutes(2)};
  const std::string less = Hold("m", ask).reservation;
  const std::string more = Hold("m", ask).reservation;
  const std::string refunded = Hold("m", ask).reservation;
  const std::string late = Hold("m", ask).reservation;
  clock_.Advance(minutes(1));
  ASSERT_TRUE(Take("m", {.tokens = 5, .tiers = {tomorrow}}).fits());
  ASSERT_EQ(Commit(less, 50).code, SettlementAnswer::Code::kSettled);
  ASSERT_EQ(Commit(more, 300).code, SettlementAnswer::Code::kSettled);
  ASSERT_EQ(Refund(refunded).code, SettlementAnswer::Code::kSettled);
  EXPECT_EQ(UsedOf("m", today), 550);
  EXPECT_EQ(UsedOf("m", tomorrow), 5);
  clock_.Advance(minutes(1));
  EXPECT_EQ(UsedOf("m", today), 350);
  EXPECT_TRUE(Commit(late, 70).late);
  EXPECT_EQ(UsedOf("m", today), 420);
  EXPECT_EQ(UsedOf("m", tomorrow), 5);
}

TEST_P(QuotaStoreSuite, AClockThatStepsBackOverMidnightFindsTheDayAsItWas) {
  const WallTime midnight = kStart + minutes(10);
  const TierCharge today{"user:alice", Day(kRequests, 2, midnight)};
  const TierCharge tomorrow{"user:alice", Day(kRequests, 2, midnight + hours(24))};
  ASSERT_TRUE(Take("m", {.tiers = {today}}).fits());
  ASSERT_TRUE(Take("m", {.tiers = {today}}).fits());
  clock_.Advance(minutes(60));
  ASSERT_TRUE(Take("m", {.tiers = {tomorrow}}).fits());
  store().Prune();
  clock_.Advance(-minutes(59));
  const ChargeAnswer refused = Take("m", {.tiers = {today}});
  EXPECT_EQ(refused.code, QuotaCode::kTierExceeded);
  EXPECT_EQ(refused.retry_after, minutes(9));
  EXPECT_EQ(UsedOf("m", tomorrow), 1);
}

TEST_P(QuotaStoreSuite, ACallerWithALateClockWaitsToo) {
  const TierCharge yesterday{"user:alice", Day(kRequests, 1, kStart - seconds(2))};
  ASSERT_TRUE(Take("m", {.tiers = {yesterday}}).fits());
  const ChargeAnswer refused = Take("m", {.tiers = {yesterday}});
  EXPECT_EQ(refused.code, QuotaCode::kTierExceeded);
  ASSERT_TRUE(refused.retry_after);
  EXPECT_GT(*refused.retry_after, Duration::zero());
}

TEST_P(QuotaStoreSuite, ADayThatIsOverIsForgottenAnHourLater) {
  if (!GetParam().forgets_at_once) GTEST_SKIP() << "forgets when its keys expire";
  const TierCharge today{"user:alice", Day(kRequests, 2, kStart + minutes(10))};
  ASSERT_TRUE(Take("m", {.tiers = {today}}).fits());
  clock_.Advance(hours(25));
  store().Prune();
  EXPECT_EQ(store().Models().value(), (std::vector<std::string>{}));
  EXPECT_EQ(UsedOf("m", today), 0);
}

TEST_P(QuotaStoreSuite, AResetForgetsTheDayAndItsReservations) {
  const TierCharge today{"user:alice", Day(kTokens, 100, kStart + hours(1))};
  const std::string held = Hold("m", {.tokens = 60, .tiers = {today}, .hold_for = minutes(1)}).reservation;
  ASSERT_TRUE(store().Reset("m").ok());
  EXPECT_EQ(UsedOf("m", today), 0);
  ASSERT_TRUE(Take("m", {.tokens = 100, .tiers = {today}}).fits());
  EXPECT_EQ(Commit(held, 10).code, SettlementAnswer::Code::kUnknown);
  EXPECT_EQ(UsedOf("m", today), 100);
}

TEST_P(QuotaStoreSuite, AnotherHandleCountsTheSameDay) {
  if (!tested_.open_another) GTEST_SKIP() << "its state is its own";
  const std::unique_ptr<QuotaStore> other = tested_.open_another();
  const std::vector<TierCharge> today = {{"user:alice", Day(kTokens, 100, kStart + hours(1))}};
  const std::string held = Hold("m", {.tokens = 60, .tiers = today, .hold_for = minutes(1)}).reservation;
  const Charge more{.model = "m", .mode = Charge::Mode::kTake, .tokens = 50, .tiers = today};
  EXPECT_EQ(other->Run(more).retry_after, hours(1));
  ASSERT_EQ(other->Run(Settlement{.reservation = held, .tokens = 40}).code, SettlementAnswer::Code::kSettled);
  EXPECT_TRUE(other->Run(more).fits());
  EXPECT_EQ(UsedOf("m", today.front()), 90);
}

TEST_P(QuotaStoreSuite, ADayOfAllModelsIsOneCount) {
  if (!store().CountsAcrossModels()) GTEST_SKIP() << "keeps models apart";
  const TierCharge total{"total:tenant:acme", Day(kTokens, 100, kStart + hours(1)), true};
  const std::string held = Hold("a", {.tokens = 60, .tiers = {total}, .hold_for = minutes(1)}).reservation;
  ASSERT_TRUE(Take("b", {.tokens = 40, .tiers = {total}}).fits());
  EXPECT_EQ(Take("c", {.tokens = 1, .tiers = {total}}).retry_after, hours(1));
  ASSERT_EQ(Commit(held, 10).code, SettlementAnswer::Code::kSettled);
  EXPECT_EQ(UsedOf("c", total), 50);
  ASSERT_TRUE(Force("c", {.tokens = 500, .tiers = {total}}).charged);
  EXPECT_EQ(UsedOf("a", total), 550);
}

}  // namespace
}  // namespace weir
