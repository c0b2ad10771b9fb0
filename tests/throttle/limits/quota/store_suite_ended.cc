// For every store: the memory of ended reservations, and the extension of deadlines.
#include <chrono>

#include "tests/throttle/limits/quota/store_suite.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using enum Limit::Unit;
using Code = SettlementAnswer::Code;

const ModelQuota kEndedQuota{.max_rpm = 10, .max_tpm = 30'000, .max_rpd = 20};

TEST_P(QuotaStoreSuite, ALateCommitIsChargedAsOfNow) {
  for (const Duration wait : {Duration(seconds(10)), Duration(hours(3))}) {
    const ChargeAnswer held = Hold("gpt-4o", {.tokens = 900, .quota = kEndedQuota, .hold_for = seconds(10)});
    clock_.Advance(wait);
    const SettlementAnswer settled = Commit(held.reservation, 700);
    EXPECT_EQ(settled.code, Code::kSettled);
    EXPECT_TRUE(settled.late);
    EXPECT_EQ(settled.model, "gpt-4o");
    EXPECT_EQ(settled.reserved_tokens, 900);
    EXPECT_EQ(settled.actual_tokens, 700);
    EXPECT_EQ(settled.time_left, Duration());
    EXPECT_EQ(UsageOf("gpt-4o"), (ModelUsage{.rpm = 1, .tpm = 700, .rpd = 1, .day_start = clock_.Now()}));
    EXPECT_EQ(Peek("gpt-4o", {.tokens = 29'301, .quota = kEndedQuota}).retry_after, kMinute);
    ASSERT_TRUE(store().Reset("gpt-4o").ok());
  }
}

TEST_P(QuotaStoreSuite, ShortReservationsForLongCallsDoNotOversell) {
  const Ask ask{.tokens = 20'000, .quota = kEndedQuota, .hold_for = seconds(1)};
  int64_t used = 0;
  for (int i = 0; i < 3; ++i) {
    const ChargeAnswer held = Hold("gpt-4o", ask);
    if (!held.fits()) continue;
    clock_.Advance(seconds(2));
    ASSERT_EQ(Commit(held.reservation, 20'000).code, Code::kSettled);
    used += 20'000;
  }
  EXPECT_EQ(used, 20'000);
  EXPECT_EQ(UsageOf("gpt-4o").tpm, 20'000);
}

TEST_P(QuotaStoreSuite, ALateCommitChargesTheTiersToo) {
  const TierCharge requests{"user:alice", Window(kRequests, 5, minutes(5))};
  const TierCharge tokens{"user:alice", Window(kTokens, 1000, minutes(5))};
  const TierCharge bucket{"model", Bucket(kTokens, 1000, hours(1), 1000)};
  const Ask ask{.tokens = 300, .tiers = {requests, tokens, bucket}, .hold_for = seconds(10)};
  const std::string held = Hold("gpt-4o", ask).reservation;
  clock_.Advance(hours(2));
  EXPECT_EQ(UsedOf("gpt-4o", tokens), 0);
  store().Prune();
  EXPECT_TRUE(Commit(held, 400).late);
  EXPECT_EQ(UsedOf("gpt-4o", requests), 1);
  EXPECT_EQ(UsedOf("gpt-4o", tokens), 400);
  EXPECT_EQ(UsedOf("gpt-4o", bucket), 400);
}

TEST_P(QuotaStoreSuite, ALateRefundChangesNothing) {
  const std::string held = Hold("gpt-4o", {.tokens = 900, .hold_for = seconds(10)}).reservation;
  clock_.Advance(seconds(10));
  const SettlementAnswer settled = Refund(held);
  EXPECT_EQ(settled.code, Code::kSettled);
  EXPECT_TRUE(settled.late);
  EXPECT_TRUE(settled.refunded);
  EXPECT_EQ(UsageOf("gpt-4o"), ModelUsage());
  EXPECT_EQ(Commit(held, 900).code, Code::kSettledOtherwise);
}

TEST_P(QuotaStoreSuite, ARepeatedCommitAnswersAsTheFirstAndChargesNothing) {
  for (const bool late : {false, true}) {
    const std::string held = Hold("gpt-4o", {.tokens = 900, .hold_for = seconds(10)}).reservation;
    if (late) clock_.Advance(seconds(10));
    const SettlementAnswer first = Commit(held, 100);
    const ModelUsage usage = UsageOf("gpt-4o");
    EXPECT_FALSE(first.again);
    for (int i = 0; i < 2; ++i) {
      clock_.Advance(seconds(1));
      const SettlementAnswer second = Commit(held, 100);
      EXPECT_EQ(second.code, Code::kSettled);
      EXPECT_TRUE(second.again);
      EXPECT_EQ(second.late, late);
      EXPECT_EQ(second.model, "gpt-4o");
      EXPECT_EQ(second.reserved_tokens, first.reserved_tokens);
      EXPECT_EQ(second.actual_tokens, first.actual_tokens);
    }
    EXPECT_EQ(UsageOf("gpt-4o"), usage);
    ASSERT_TRUE(store().Reset("gpt-4o").ok());
  }
}

TEST_P(QuotaStoreSuite, AContradictingCommitIsAnsweredWithTheFirst) {
  const std::string held = Hold("gpt-4o", {.tokens = 900}).reservation;
  ASSERT_EQ(Commit(held, 100).code, Code::kSettled);
  for (const SettlementAnswer& other : {Commit(held, 50), Refund(held), Extend(held, hours(1))}) {
    EXPECT_EQ(other.code, Code::kSettledOtherwise);
    EXPECT_FALSE(other.refunded);
    EXPECT_EQ(other.actual_tokens, 100);
  }
  EXPECT_EQ(UsageOf("gpt-4o"), (ModelUsage{.rpm = 1, .tpm = 100, .rpd = 1, .day_start = kStart}));
}

TEST_P(QuotaStoreSuite, ARefundSaidAgainAnswersAsTheFirst) {
  const std::string held = Hold("gpt-4o", {.tokens = 900}).reservation;
  ASSERT_EQ(Refund(held).code, Code::kSettled);
  EXPECT_TRUE(Refund(held).again);
  for (const SettlementAnswer& other : {Commit(held, 0), Commit(held, 900)}) {
    EXPECT_EQ(other.code, Code::kSettledOtherwise);
    EXPECT_TRUE(other.refunded);
  }
  EXPECT_EQ(UsageOf("gpt-4o"), ModelUsage());
}

TEST_P(QuotaStoreSuite, HowAReservationEndedIsRememberedForAWhile) {
  const Ask ask{.tokens = 5, .hold_for = seconds(10)};
  const std::string committed = Hold("gpt-4o", ask).reservation;
  const std::string refunded = Hold("gpt-4o", ask).reservation;
  const std::string expired = Hold("gpt-4o", ask).reservation;
  ASSERT_EQ(Commit(committed, 1).code, Code::kSettled);
  ASSERT_EQ(Refund(refunded).code, Code::kSettled);
  clock_.Advance(kSettledKept - GetParam().resolution);
  store().Prune();
  EXPECT_TRUE(Commit(committed, 1).again);
  EXPECT_TRUE(Refund(refunded).again);
  clock_.Advance(GetParam().resolution);
  EXPECT_EQ(Commit(committed, 1).code, Code::kUnknown);
  EXPECT_EQ(Refund(refunded).code, Code::kUnknown);
  clock_.Set(kStart + seconds(10) + kExpiredKept - GetParam().resolution);
  store().Prune();
  EXPECT_EQ(Extend(expired, hours(1)).code, Code::kExpired);
  clock_.Advance(GetParam().resolution);
  EXPECT_EQ(Commit(expired, 1).code, Code::kUnknown);
  store().Prune();
  EXPECT_EQ(UsageOf("gpt-4o"), ModelUsage());
  EXPECT_TRUE(store().Models().value().empty());
}

TEST_P(QuotaStoreSuite, RemembersTheLastEndedReservations) {
  const std::string expired = Hold("gpt-4o", {.hold_for = seconds(1)}).reservation;
  clock_.Advance(seconds(1));
  const Ask named{.token = NamedReservationToken({"a name"})};
  ASSERT_EQ(Commit(Hold("gpt-4o", named).reservation, 1).code, Code::kSettled);
  std::vector<std::string> settled;
  for (size_t i = 0; i < kMostEnded + 10; ++i) {
    clock_.Advance(std::chrono::milliseconds(1));
    settled.push_back(Hold("gpt-4o", {}).reservation);
    ASSERT_EQ(Commit(settled.back(), 1).code, Code::kSettled);
  }
  EXPECT_EQ(Commit(settled[0], 1).code, Code::kUnknown);
  EXPECT_EQ(Commit(settled[10], 1).code, Code::kUnknown);
  EXPECT_TRUE(Commit(settled[11], 1).again);
  EXPECT_TRUE(Commit(settled.back(), 1).again);
  EXPECT_TRUE(Commit(expired, 1).late);
  EXPECT_TRUE(Hold("gpt-4o", named).again) << "those that have a name are counted apart";
}

TEST_P(QuotaStoreSuite, AnExpiredReservationCountsNowhere) {
  const std::string held = Hold("gpt-4o", {.tokens = 5, .hold_for = seconds(10)}).reservation;
  clock_.Advance(seconds(10));
  store().Prune();
  EXPECT_TRUE(store().Models().value().empty());
  EXPECT_TRUE(store().Export().value().empty());
  EXPECT_EQ(UsageOf("gpt-4o"), ModelUsage());
  EXPECT_TRUE(Commit(held, 5).late);
  EXPECT_EQ(UsageOf("gpt-4o").tpm, 5);
}

TEST_P(QuotaStoreSuite, AnExtendedReservationStaysOpen) {
  const TierCharge tier{"user:alice", Window(kTokens, 900, hours(9))};
  const std::string held = Hold("gpt-4o", {.tokens = 900, .tiers = {tier}, .hold_for = seconds(10)}).reservation;
  clock_.Advance(seconds(10) - GetParam().resolution);
  const SettlementAnswer extended = Extend(held, hours(2));
  EXPECT_EQ(extended.code, Code::kSettled);
  EXPECT_EQ(extended.model, "gpt-4o");
  EXPECT_EQ(extended.reserved_tokens, 900);
  EXPECT_EQ(extended.time_left, GetParam().resolution);
  clock_.Advance(hours(2) - GetParam().resolution);
  store().Prune();
  EXPECT_EQ(UsageOf("gpt-4o").open_reservations, 1);
  EXPECT_EQ(UsedOf("gpt-4o", tier), 900);
  EXPECT_EQ(Extend(held, seconds(30)).code, Code::kSettled);
  clock_.Advance(seconds(29));
  const SettlementAnswer settled = Commit(held, 100);
  EXPECT_EQ(settled.code, Code::kSettled);
  EXPECT_FALSE(settled.late);
  EXPECT_EQ(settled.time_left, seconds(1));
  EXPECT_EQ(UsedOf("gpt-4o", tier), 100);
}

TEST_P(QuotaStoreSuite, AnExtendedReservationEndsAtItsNewDeadline) {
  const std::string held = Hold("gpt-4o", {.tokens = 900, .hold_for = seconds(10)}).reservation;
  const std::string other = Hold("gpt-4o", {.tokens = 1, .hold_for = seconds(10)}).reservation;
  clock_.Advance(seconds(5));
  ASSERT_EQ(Extend(held, seconds(20)).code, Code::kSettled);
  EXPECT_EQ(Extend(held, seconds(1)).time_left, seconds(20));  // an extension never shortens the time left
  clock_.Advance(seconds(20) - GetParam().resolution);
  EXPECT_EQ(UsageOf("gpt-4o").open_reservations, 1);
  clock_.Advance(GetParam().resolution);
  EXPECT_EQ(UsageOf("gpt-4o"), ModelUsage());
  EXPECT_EQ(Extend(held, seconds(20)).code, Code::kExpired);
  EXPECT_EQ(Extend(other, seconds(20)).code, Code::kExpired);
  EXPECT_EQ(Extend("0" + held.substr(1), seconds(20)).code == Code::kUnknown, held[0] != '0');
}

TEST_P(QuotaStoreSuite, AnotherHandleKnowsHowAReservationEnded) {
  if (!tested_.open_another) GTEST_SKIP() << "its state is its own";
  const Ask ask{.tokens = 300, .hold_for = seconds(10)};
  const std::string committed = Hold("gpt-4o", ask).reservation;
  const std::string expired = Hold("gpt-4o", ask).reservation;
  ASSERT_EQ(Commit(committed, 100).code, Code::kSettled);
  clock_.Advance(seconds(10));
  const std::unique_ptr<QuotaStore> other = tested_.open_another();
  EXPECT_TRUE(other->Run(Settlement{.reservation = committed, .tokens = 100}).again);
  EXPECT_TRUE(other->Run(Settlement{.reservation = expired, .tokens = 250}).late);
  EXPECT_TRUE(Commit(expired, 250).again);
  EXPECT_EQ(UsageOf("gpt-4o").tpm, 350);
}

}  // namespace
}  // namespace weir
