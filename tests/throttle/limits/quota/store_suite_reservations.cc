// For every store: reservations.
#include <limits>

#include "tests/throttle/limits/quota/store_suite.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using enum Limit::Unit;
using Code = SettlementAnswer::Code;

const ModelQuota kHeldQuota{.max_rpm = 10, .max_tpm = 1000, .max_rpd = 20};

TEST_P(QuotaStoreSuite, AReservationCountsAsUsed) {
  const ChargeAnswer held = Hold("gpt-4o", {.tokens = 900, .quota = kHeldQuota});
  EXPECT_EQ(held.code, QuotaCode::kOk);
  EXPECT_FALSE(held.reservation.empty());
  EXPECT_EQ(held.usage, (ModelUsage{.rpm = 1, .tpm = 900, .rpd = 1, .day_start = kStart, .open_reservations = 1}));
  EXPECT_EQ(Peek("gpt-4o", {.tokens = 101, .quota = kHeldQuota}).code, QuotaCode::kTpmExceeded);
  EXPECT_TRUE(Hold("gpt-4o", {.tokens = 101, .quota = kHeldQuota}).reservation.empty());
  EXPECT_EQ(UsageOf("gpt-4o"), held.usage);
}

TEST_P(QuotaStoreSuite, CommitOfLessFreesTheRestAtOnce) {
  const ChargeAnswer held = Hold("gpt-4o", {.tokens = 900, .quota = kHeldQuota});
  clock_.Advance(seconds(4));
  const SettlementAnswer settled = Commit(held.reservation, 300);
  EXPECT_EQ(settled.code, Code::kSettled);
  EXPECT_EQ(settled.model, "gpt-4o");
  EXPECT_EQ(settled.reserved_tokens, 900);
  EXPECT_EQ(settled.actual_tokens, 300);
  EXPECT_EQ(settled.time_left, seconds(6));
  EXPECT_EQ(UsageOf("gpt-4o"), (ModelUsage{.rpm = 1, .tpm = 300, .rpd = 1, .day_start = kStart}));
  EXPECT_EQ(Peek("gpt-4o", {.tokens = 701, .quota = kHeldQuota}).retry_after, seconds(56));
  ExpectFitsAfterRetry("gpt-4o", {.tokens = 701, .quota = kHeldQuota});
}

TEST_P(QuotaStoreSuite, CommitOfMoreChargesTheRestAsOfNow) {
  const ChargeAnswer held = Hold("gpt-4o", {.tokens = 900, .quota = kHeldQuota});
  clock_.Advance(seconds(4));
  EXPECT_EQ(Commit(held.reservation, 1500).code, Code::kSettled);
  EXPECT_EQ(UsageOf("gpt-4o").tpm, 1500);
  EXPECT_EQ(UsageOf("gpt-4o").rpm, 1);
  EXPECT_EQ(Peek("gpt-4o", {.tokens = 400, .quota = kHeldQuota}).retry_after, seconds(56));
  EXPECT_EQ(Peek("gpt-4o", {.tokens = 401, .quota = kHeldQuota}).retry_after, seconds(60));
  clock_.Advance(seconds(56));
  EXPECT_EQ(UsageOf("gpt-4o").tpm, 600);
}

TEST_P(QuotaStoreSuite, CommitOfNothingKeepsTheRequest) {
  const ChargeAnswer held = Hold("gpt-4o", {.tokens = 900, .quota = kHeldQuota});
  EXPECT_EQ(Commit(held.reservation, 0).code, Code::kSettled);
  EXPECT_EQ(UsageOf("gpt-4o"), (ModelUsage{.rpm = 1, .tpm = 0, .rpd = 1, .day_start = kStart}));
}

TEST_P(QuotaStoreSuite, ARefundGivesBackEverything) {
  ASSERT_TRUE(Take("gpt-4o", {.tokens = 50, .quota = kHeldQuota}).fits());
  clock_.Advance(seconds(1));
  const ChargeAnswer held = Hold("gpt-4o", {.tokens = 900, .quota = kHeldQuota});
  clock_.Advance(seconds(1));
  const SettlementAnswer settled = Refund(held.reservation);
  EXPECT_EQ(settled.time_left, seconds(9));
  EXPECT_EQ(settled.code, Code::kSettled);
  EXPECT_EQ(settled.reserved_tokens, 900);
  EXPECT_EQ(settled.actual_tokens, 0);
  EXPECT_EQ(UsageOf("gpt-4o"), (ModelUsage{.rpm = 1, .tpm = 50, .rpd = 1, .day_start = kStart}));
}

TEST_P(QuotaStoreSuite, ADayOfWhichAllWasGivenBackHasNotBegun) {
  const ChargeAnswer held = Hold("gpt-4o", {.tokens = 900, .quota = kHeldQuota});
  ASSERT_EQ(Refund(held.reservation).code, Code::kSettled);
  EXPECT_EQ(UsageOf("gpt-4o"), ModelUsage());
  clock_.Advance(seconds(5));
  EXPECT_EQ(Take("gpt-4o", {}).usage.day_start, kStart + seconds(5));
}

TEST_P(QuotaStoreSuite, AnUnsettledReservationIsGivenBackAtItsDeadline) {
  const TierCharge tier{"user:alice", Window(kTokens, 900, hours(1))};
  const Ask ask{.tokens = 900, .quota = kHeldQuota, .tiers = {tier}, .hold_for = seconds(10)};
  const ChargeAnswer held = Hold("gpt-4o", ask);
  clock_.Advance(seconds(10) - GetParam().resolution);
  EXPECT_EQ(UsageOf("gpt-4o").open_reservations, 1);
  EXPECT_FALSE(Peek("gpt-4o", ask).fits());
  clock_.Advance(GetParam().resolution);
  EXPECT_TRUE(Peek("gpt-4o", ask).fits());
  EXPECT_EQ(UsageOf("gpt-4o"), ModelUsage());
  EXPECT_EQ(UsedOf("gpt-4o", tier), 0);
  EXPECT_EQ(store().Health().expired_reservations, 1U);
}

TEST_P(QuotaStoreSuite, AnInvalidReservationIsUnknown) {
  const std::string held = Hold("gpt-4o", {.tokens = 900}).reservation;
  std::string other = held;
  other[0] = other[0] == '0' ? '1' : '0';
  const std::string token = held.substr(0, held.find('@'));
  for (const std::string& id : {
           std::string(),
           std::string("x"),
           std::string("@"),
           std::string("@gpt-4o"),
           token,
           token + "@",
           token + "@o1",
           token + "@gpt-4o@",
           token + "@gpt%2D4o",
           token.substr(1) + "@gpt-4o",
           "0" + held,
           " " + held,
           held + " ",
           held + std::string(1, '\0'),
           other,
           std::string(10'000, 'a'),
           token + "@" + std::string(10'000, 'a'),
           token + "@\r\n{x}:%",
           std::string(32, 'z') + "@gpt-4o",
       })
    EXPECT_EQ(Commit(id, 1).code, Code::kUnknown) << id.substr(0, 80);
  EXPECT_EQ(UsageOf("gpt-4o").tpm, 900);
  EXPECT_EQ(Commit(held, 1).code, Code::kSettled);
}

TEST_P(QuotaStoreSuite, EntriesThatLeftTheWindowAreNotGivenBack) {
  const Ask ask{.tokens = 400, .quota = kHeldQuota, .hold_for = hours(2)};
  const std::string refunded = Hold("gpt-4o", ask).reservation;
  const std::string less = Hold("gpt-4o", ask).reservation;
  clock_.Advance(seconds(61));
  const std::string more = Hold("gpt-4o", ask).reservation;
  EXPECT_EQ(UsageOf("gpt-4o").tpm, 400);
  EXPECT_EQ(Refund(refunded).code, Code::kSettled);
  EXPECT_EQ(Commit(less, 100).code, Code::kSettled);
  EXPECT_EQ(UsageOf("gpt-4o"),
            (ModelUsage{.rpm = 1, .tpm = 400, .rpd = 2, .day_start = kStart, .open_reservations = 1}));
  clock_.Advance(seconds(61));
  EXPECT_EQ(Commit(more, 500).code, Code::kSettled);
  EXPECT_EQ(UsageOf("gpt-4o").tpm, 100);
  EXPECT_EQ(UsageOf("gpt-4o").rpm, 0);
}

TEST_P(QuotaStoreSuite, ARefundTakesNothingFromAnotherDay) {
  const std::string held = Hold("gpt-4o", {.tokens = 1, .hold_for = hours(24)}).reservation;
  clock_.Advance(hours(24) - seconds(1));
  ASSERT_TRUE(Take("gpt-4o", {}).fits());
  const std::string late = Hold("gpt-4o", {.tokens = 1, .hold_for = hours(1)}).reservation;
  EXPECT_EQ(UsageOf("gpt-4o").rpd, 3);
  clock_.Advance(seconds(2));
  ASSERT_TRUE(Take("gpt-4o", {}).fits());
  EXPECT_EQ(Refund(late).code, Code::kSettled);
  EXPECT_TRUE(Refund(held).late);
  EXPECT_EQ(UsageOf("gpt-4o").rpd, 1);
  EXPECT_EQ(UsageOf("gpt-4o").rpm, 2);
}

TEST_P(QuotaStoreSuite, TiersAreSettledToo) {
  const TierCharge requests{"user:alice", Window(kRequests, 5, hours(1))};
  const TierCharge tokens{"all", Window(kTokens, 1000, hours(1))};
  const TierCharge request_bucket{"instance:a", Bucket(kRequests, 5, hours(1), 5)};
  const TierCharge token_bucket{"instance:a", Bucket(kTokens, 1000, hours(1), 1000)};
  const Ask ask{.tokens = 300, .tiers = {requests, tokens, request_bucket, token_bucket}};
  const auto used = [&] {
    std::vector<int64_t> all;
    for (const TierCharge& tier : ask.tiers) all.push_back(UsedOf("gpt-4o", tier));
    return all;
  };
  const std::string less = Hold("gpt-4o", ask).reservation;
  const std::string more = Hold("gpt-4o", ask).reservation;
  const std::string none = Hold("gpt-4o", ask).reservation;
  EXPECT_EQ(used(), (std::vector<int64_t>{3, 900, 3, 900}));
  EXPECT_EQ(Commit(less, 100).code, Code::kSettled);
  EXPECT_EQ(used(), (std::vector<int64_t>{3, 700, 3, 700}));
  EXPECT_EQ(Commit(more, 550).code, Code::kSettled);
  EXPECT_EQ(used(), (std::vector<int64_t>{3, 950, 3, 950}));
  EXPECT_EQ(Refund(none).code, Code::kSettled);
  EXPECT_EQ(used(), (std::vector<int64_t>{2, 650, 2, 650}));
}

TEST_P(QuotaStoreSuite, AForcedChargeCanBeAReservation) {
  const TierCharge tier{"all", Window(kTokens, 1000, hours(1))};
  const Ask ask{.tokens = 900, .quota = kHeldQuota, .tiers = {tier}, .hold_for = seconds(10)};
  ASSERT_TRUE(ForceHold("gpt-4o", ask).fits());
  const ChargeAnswer over = ForceHold("gpt-4o", ask);
  EXPECT_EQ(over.code, QuotaCode::kTpmExceeded);
  EXPECT_TRUE(over.charged);
  EXPECT_EQ(over.usage.tpm, 1800);
  EXPECT_EQ(Commit(over.reservation, 100).code, Code::kSettled);
  EXPECT_EQ(UsedOf("gpt-4o", tier), 1000);
  clock_.Advance(seconds(10));
  EXPECT_EQ(UsageOf("gpt-4o").tpm, 100);
  EXPECT_EQ(UsedOf("gpt-4o", tier), 100);
}

// Otherwise a caller could get the burst a second time by waiting with a refund until the bucket has been refilled.
TEST_P(QuotaStoreSuite, ABucketGetsBackOnlyTokensTheRefillHasNotPaid) {
  const TierCharge tier{"user:alice", Bucket(kTokens, 100, hours(1), 200)};
  const Ask ask{.tokens = 200, .tiers = {tier}, .hold_for = hours(10)};
  const std::string first = Hold("gpt-4o", ask).reservation;
  clock_.Advance(hours(2));
  EXPECT_EQ(UsedOf("gpt-4o", tier), 0);
  const std::string second = Hold("gpt-4o", ask).reservation;
  ASSERT_FALSE(second.empty());
  EXPECT_EQ(Refund(first).code, Code::kSettled);
  EXPECT_EQ(UsedOf("gpt-4o", tier), 200);
  EXPECT_FALSE(Take("gpt-4o", ask).fits());
  clock_.Advance(hours(1));
  EXPECT_EQ(Commit(second, 150).code, Code::kSettled);  // the refill has paid 100, 50 are given back
  EXPECT_EQ(UsedOf("gpt-4o", tier), 50);
}

TEST_P(QuotaStoreSuite, AReservationKeepsItsChargeUntilItIsSettled) {
  const TierCharge window{"user:alice", Window(kTokens, 1000, seconds(5))};
  const TierCharge bucket{"user:alice", Bucket(kTokens, 1000, seconds(5), 1000)};
  const Ask ask{.tokens = 300, .tiers = {window, bucket}, .hold_for = hours(1)};
  const std::string held = Hold("gpt-4o", ask).reservation;
  clock_.Advance(std::chrono::minutes(30));
  store().Prune();
  ASSERT_TRUE(Take("gpt-4o", {.tokens = 100, .tiers = {window, bucket}}).fits());
  EXPECT_EQ(Commit(held, 320).code, Code::kSettled);
  EXPECT_EQ(UsedOf("gpt-4o", window), 120);
  EXPECT_EQ(UsedOf("gpt-4o", bucket), 120);
}

TEST_P(QuotaStoreSuite, AReservationWithoutTokensIsChargedAtItsCommit) {
  const TierCharge tier{"all", Window(kTokens, 1000, hours(1))};
  const std::string held = Hold("gpt-4o", {.tokens = 0, .tiers = {tier}}).reservation;
  EXPECT_EQ(Commit(held, 120).code, Code::kSettled);
  EXPECT_EQ(UsageOf("gpt-4o").tpm, 120);
  EXPECT_EQ(UsedOf("gpt-4o", tier), 120);
}

TEST_P(QuotaStoreSuite, ManyReservationsAreKeptApart) {
  std::vector<std::string> held;
  for (int i = 1; i <= 100; ++i) {
    held.push_back(Hold("gpt-4o", {.tokens = i}).reservation);
    clock_.Advance(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(UsageOf("gpt-4o").tpm, 5050);
  EXPECT_EQ(UsageOf("gpt-4o").open_reservations, 100);
  for (int i = 0; i < 100; ++i) {
    const SettlementAnswer settled = i % 3 == 0 ? Refund(held[i]) : Commit(held[i], 1);
    EXPECT_EQ(settled.code, Code::kSettled);
    EXPECT_EQ(settled.reserved_tokens, i + 1);
  }
  EXPECT_EQ(UsageOf("gpt-4o"), (ModelUsage{.rpm = 66, .tpm = 66, .rpd = 66, .day_start = kStart}));
}

TEST_P(QuotaStoreSuite, AReservationKnowsItsModelOfAnyName) {
  for (const std::string model : {"a:b", "a@b", "{a}", "%40", "a b", "ünï", "@", "a/b@c:{d}%25"}) {
    const std::string held = Hold(model, {.tokens = 10}).reservation;
    EXPECT_EQ(UsageOf(model).tpm, 10);
    const SettlementAnswer settled = Commit(held, 7);
    EXPECT_EQ(settled.code, Code::kSettled) << held;
    EXPECT_EQ(settled.model, model);
    EXPECT_EQ(UsageOf(model).tpm, 7);
  }
}

TEST_P(QuotaStoreSuite, ReservationsAtTheEdgeOf64BitsAreCutDown) {
  constexpr int64_t kMost64 = std::numeric_limits<int64_t>::max();
  const std::string held = Hold("gpt-4o", {.tokens = kMost64}).reservation;
  const std::string small = Hold("gpt-4o", {.tokens = 1}).reservation;
  EXPECT_EQ(Commit(small, kMost64).actual_tokens, kMostAmount);
  EXPECT_EQ(UsageOf("gpt-4o").tpm, kMostAmount);
  EXPECT_EQ(Commit(held, 0).reserved_tokens, kMostAmount);
  EXPECT_GE(UsageOf("gpt-4o").tpm, 0);
  EXPECT_LE(UsageOf("gpt-4o").tpm, kMostAmount);
}

TEST_P(QuotaStoreSuite, WhenTheClockStepsBackAReservationIsAsOfNow) {
  clock_.Advance(hours(2));
  const std::string held = Hold("gpt-4o", {.tokens = 900, .quota = kHeldQuota, .hold_for = seconds(10)}).reservation;
  clock_.Set(kStart);
  EXPECT_EQ(UsageOf("gpt-4o").open_reservations, 1);
  clock_.Advance(seconds(9));
  EXPECT_EQ(Commit(held, 100).code, Code::kSettled);
  EXPECT_EQ(UsageOf("gpt-4o").tpm, 100);

  clock_.Set(kStart + hours(3));
  ASSERT_FALSE(Hold("gpt-4o", {.tokens = 800, .quota = kHeldQuota, .hold_for = seconds(10)}).reservation.empty());
  clock_.Set(kStart + hours(1));
  EXPECT_EQ(UsageOf("gpt-4o").open_reservations, 1);
  clock_.Advance(seconds(10));
  EXPECT_EQ(UsageOf("gpt-4o").open_reservations, 0);
}

TEST_P(QuotaStoreSuite, ResetForgetsReservations) {
  const TierCharge tier{"all", Window(kTokens, 1000, hours(1))};
  const std::string held = Hold("gpt-4o", {.tokens = 10, .tiers = {tier}}).reservation;
  ASSERT_TRUE(store().Reset("gpt-4o").ok());
  EXPECT_EQ(UsageOf("gpt-4o"), ModelUsage());
  EXPECT_EQ(UsedOf("gpt-4o", tier), 0);
  EXPECT_EQ(Commit(held, 10).code, Code::kUnknown);
  EXPECT_EQ(UsageOf("gpt-4o"), ModelUsage());
}

}  // namespace
}  // namespace weir
