// For every store: calls that last for a while. Their cost, the number at once, reports before their end, and repeated
// requests.
#include "tests/throttle/limits/quota/store_suite.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using enum Limit::Unit;
using Code = SettlementAnswer::Code;

const ModelQuota kQuota{.max_rpm = 10, .max_tpm = 2000, .max_rpd = 20};
const ReservationToken kName = NamedReservationToken({"alice", "key-1"});

TEST_P(QuotaStoreSuite, MoneyIsChargedAndSettledBesideTheTokens) {
  const TierCharge tier{"user:alice", Window(kMoney, 10 * kMoneyUnit, hours(1))};
  const Ask ask{.tokens = 900, .money = 6 * kMoneyUnit, .quota = kQuota, .tiers = {tier}};
  const std::string first = Hold("gpt-4o", ask).reservation;
  const ChargeAnswer refused = Hold("gpt-4o", ask);
  EXPECT_EQ(refused.code, QuotaCode::kTierExceeded);
  EXPECT_EQ(refused.retry_after, hours(1));
  EXPECT_TRUE(refused.reservation.empty());
  EXPECT_EQ(Commit(first, 300, 2 * kMoneyUnit).code, Code::kSettled);
  EXPECT_EQ(UsedOf("gpt-4o", tier), 2 * kMoneyUnit);
  const std::string second = Hold("gpt-4o", ask).reservation;
  EXPECT_EQ(Commit(second, 900, 9 * kMoneyUnit + 1).code, Code::kSettled);
  EXPECT_EQ(UsedOf("gpt-4o", tier), 11 * kMoneyUnit + 1);
  EXPECT_EQ(UsageOf("gpt-4o").tpm, 1200);
}

TEST_P(QuotaStoreSuite, TakesCountTheirMoneyToo) {
  const TierCharge month{"user:alice", Window(kMoney, 100, hours(24 * 31))};
  const TierCharge bucket{"user:alice", Bucket(kMoney, 100, hours(1), 100)};
  const Ask ask{.money = 60, .tiers = {month, bucket}};
  ASSERT_TRUE(Take("gpt-4o", ask).fits());
  EXPECT_EQ(UsedOf("gpt-4o", month), 60);
  EXPECT_EQ(UsedOf("gpt-4o", bucket), 60);
  EXPECT_EQ(Take("gpt-4o", ask).code, QuotaCode::kTierExceeded);
  EXPECT_TRUE(Force("gpt-4o", ask).charged);
  EXPECT_EQ(UsedOf("gpt-4o", month), 120);
  EXPECT_EQ(Take("gpt-4o", {.money = 101, .tiers = {month}}).code, QuotaCode::kTooLarge);
}

TEST_P(QuotaStoreSuite, MoneyThatIsLateIsChargedAsOfNow) {
  const TierCharge tier{"user:alice", Window(kMoney, 1000, minutes(5))};
  const std::string held = Hold("gpt-4o", {.tokens = 9, .money = 500, .tiers = {tier}}).reservation;
  clock_.Advance(seconds(10));
  EXPECT_EQ(UsedOf("gpt-4o", tier), 0);
  EXPECT_TRUE(Commit(held, 7, 300).late);
  EXPECT_EQ(UsedOf("gpt-4o", tier), 300);
  clock_.Advance(minutes(5) - GetParam().resolution);
  EXPECT_EQ(UsedOf("gpt-4o", tier), 300);
}

TEST_P(QuotaStoreSuite, CallsCountUntilTheyEndInAnyWay) {
  const TierCharge tier{"user:alice", {.unit = kCalls, .amount = 2, .per = kCallCounts}};
  const Ask ask{.tokens = 5, .tiers = {tier}};
  const std::string first = Hold("gpt-4o", ask).reservation;
  const std::string second = Hold("gpt-4o", ask).reservation;
  const auto is_full = [&] {
    const ChargeAnswer refused = Hold("gpt-4o", ask);
    EXPECT_EQ(refused.tiers.at(0).used, 2);
    return refused.code == QuotaCode::kTierExceeded && refused.retry_after == kCallsPause;
  };
  EXPECT_TRUE(is_full());
  EXPECT_FALSE(Peek("gpt-4o", ask).fits());
  EXPECT_TRUE(Take("gpt-4o", ask).fits()) << "what is over at once is never under way";

  Commit(first, 5);
  EXPECT_EQ(UsedOf("gpt-4o", tier), 1);
  const std::string third = Hold("gpt-4o", ask).reservation;
  EXPECT_TRUE(is_full());
  Refund(second);
  EXPECT_EQ(UsedOf("gpt-4o", tier), 1);
  Extend(third, seconds(60));
  clock_.Advance(seconds(60) - GetParam().resolution);
  EXPECT_EQ(UsedOf("gpt-4o", tier), 1);
  clock_.Advance(GetParam().resolution);
  EXPECT_EQ(UsedOf("gpt-4o", tier), 0);
  EXPECT_TRUE(Commit(third, 5).late);
  EXPECT_EQ(UsedOf("gpt-4o", tier), 0);
}

TEST_P(QuotaStoreSuite, AReservationThatIsNoCallMeetsNoLimitOfCalls) {
  const TierCharge tier{"user:alice", {.unit = kCalls, .amount = 1, .per = kCallCounts}};
  const Ask call{.tokens = 5, .tiers = {tier}};
  ASSERT_TRUE(Hold("gpt-4o", call).fits());
  EXPECT_FALSE(Peek("gpt-4o", call).fits());
  const Ask no_call{.tokens = 5, .tiers = {tier}, .token = kName, .is_call = false};
  EXPECT_TRUE(Peek("gpt-4o", no_call).fits());
  EXPECT_TRUE(Take("gpt-4o", no_call).fits());
  const std::string held = Hold("gpt-4o", no_call).reservation;
  ASSERT_FALSE(held.empty());
  EXPECT_EQ(UsedOf("gpt-4o", tier), 1);
  ASSERT_EQ(Commit(held, 5).code, Code::kSettled);
  EXPECT_EQ(UsedOf("gpt-4o", tier), 1) << "it takes none out either";
  EXPECT_FALSE(Hold("gpt-4o", call).fits());
}

TEST_P(QuotaStoreSuite, ARepeatedNamedReservationIsChargedOnce) {
  const TierCharge tier{"user:alice", {.unit = kCalls, .amount = 1, .per = kCallCounts}};
  const Ask ask{.tokens = 900, .quota = kQuota, .tiers = {tier}, .token = kName};
  const ChargeAnswer first = Hold("gpt-4o", ask);
  ASSERT_TRUE(first.charged);
  EXPECT_FALSE(first.again);
  const auto expect_again = [&](const ModelUsage& usage) {
    const ChargeAnswer again = Hold("gpt-4o", {.tokens = 5, .quota = kQuota, .tiers = {tier}, .token = kName});
    EXPECT_TRUE(again.fits());
    EXPECT_FALSE(again.charged);
    ASSERT_TRUE(again.again);
    EXPECT_EQ(again.again->tokens, 900);
    EXPECT_EQ(again.reservation, first.reservation);
    EXPECT_EQ(again.usage, usage);
  };
  expect_again(first.usage);
  Commit(first.reservation, 300);
  expect_again({.rpm = 1, .tpm = 300, .rpd = 1, .day_start = kStart});
  EXPECT_FALSE(Hold("o1", ask).again) << "of another model it is another";
}

TEST_P(QuotaStoreSuite, ARepeatedNamedReservationIsNeverRefused) {
  const TierCharge full{"user:alice", Window(kRequests, 1, hours(1))};
  const ModelQuota quota{.max_rpm = 1, .max_tpm = 900};
  const Ask ask{.tokens = 900, .quota = quota, .tiers = {full}, .token = kName};
  const std::string held = Hold("gpt-4o", ask).reservation;
  ASSERT_FALSE(held.empty());
  for (const int64_t tokens : {900, 901}) {
    for (const size_t before : {0, 1}) {
      const ChargeAnswer again = Hold(
          "gpt-4o", {.tokens = tokens, .quota = quota, .tiers = {full}, .tiers_before_model = before, .token = kName});
      EXPECT_TRUE(again.again);
      EXPECT_EQ(again.code, QuotaCode::kOk);
      EXPECT_EQ(again.tier, std::nullopt);
      EXPECT_EQ(again.retry_after, std::nullopt);
      EXPECT_EQ(again.new_names, 0U);
      EXPECT_EQ(again.nearly_full, std::nullopt);
    }
  }
}

TEST_P(QuotaStoreSuite, ANameIsKnownForADayAfterItsEnd) {
  const Ask ask{.tokens = 900, .quota = kQuota, .hold_for = hours(1), .token = kName};
  const ReservationToken late_name = NamedReservationToken({"alice", "late"});
  const Ask late_ask{.tokens = 9, .quota = kQuota, .token = late_name};
  const std::string late = Hold("gpt-4o", late_ask).reservation;
  clock_.Advance(seconds(10));
  const std::string held = ForceHold("gpt-4o", ask).reservation;
  ASSERT_TRUE(Commit(late, 8).late);
  ASSERT_EQ(Commit(held, 300).code, Code::kSettled);
  clock_.Advance(kExpiredKept - GetParam().resolution);
  store().Prune();
  EXPECT_TRUE(Hold("gpt-4o", ask).again);
  EXPECT_TRUE(Commit(held, 300).again);
  EXPECT_TRUE(Hold("gpt-4o", late_ask).again);
  clock_.Advance(GetParam().resolution);
  EXPECT_EQ(Commit(held, 300).code, Code::kUnknown);
  EXPECT_FALSE(Hold("gpt-4o", ask).again);
  EXPECT_FALSE(Hold("gpt-4o", late_ask).again);
  EXPECT_EQ(store().Health().warning, "");
}

TEST_P(QuotaStoreSuite, KnowsTheLastNamesAndWarnsOfForgottenOnes) {
  Open({.max_named_ended = 20});
  const auto name_of = [](int i) { return NamedReservationToken({"alice", std::to_string(i)}); };
  const auto hold = [&](int i) { return Hold("gpt-4o", {.tokens = 1, .token = name_of(i)}); };
  const auto end = [&](int i) {
    clock_.Advance(std::chrono::milliseconds(1));
    ASSERT_EQ(Commit(hold(i).reservation, 1).code, Code::kSettled);
  };
  for (int i = 0; i < 20; ++i) end(i);
  EXPECT_EQ(store().Health().warning, "");
  clock_.Advance(kExpiredKept);
  for (int i = 20; i < 40; ++i) end(i);
  EXPECT_EQ(store().Health().warning, "") << "whose day was over are not missed";
  for (int i = 40; i < 45; ++i) end(i);
  EXPECT_NE(store().Health().warning.find("WEIR_QUOTA_MAX_IDEMPOTENCY_KEYS"), std::string::npos);
  for (int i = 25; i < 45; ++i) EXPECT_TRUE(hold(i).again) << i;
  for (int i = 20; i < 25; ++i) EXPECT_FALSE(hold(i).again) << i;
}

TEST_P(QuotaStoreSuite, AnExpiredReservationIsNotMadeASecondTimeByItsName) {
  const Ask ask{.tokens = 900, .quota = kQuota, .token = kName};
  const std::string held = Hold("gpt-4o", ask).reservation;
  clock_.Advance(seconds(10));
  EXPECT_TRUE(Hold("gpt-4o", ask).again);
  EXPECT_EQ(UsageOf("gpt-4o"), ModelUsage());
  EXPECT_TRUE(Commit(held, 100).late);
  EXPECT_EQ(UsageOf("gpt-4o").tpm, 100);
}

TEST_P(QuotaStoreSuite, ANameThatIsForgottenAndUsedAgainLetsGoOfItsTiers) {
  Open({.max_tier_keys = 1});
  const TierCharge tier{"a", Window(kTokens, 5, seconds(30))};
  const Ask ask{.tokens = 3, .tiers = {tier}, .token = kName};
  ASSERT_TRUE(Hold("gpt-4o", ask).charged);
  clock_.Advance(seconds(10));
  EXPECT_TRUE(Hold("gpt-4o", ask).again);
  clock_.Advance(kExpiredKept);
  const ChargeAnswer second = Hold("gpt-4o", ask);
  ASSERT_FALSE(second.again);
  ASSERT_TRUE(second.charged);
  ASSERT_EQ(Refund(second.reservation).code, Code::kSettled);
  clock_.Advance(hours(3));
  EXPECT_TRUE(Take("gpt-4o", {.tiers = {{"b", Window(kRequests, 5, hours(1))}}}).fits());
}

TEST_P(QuotaStoreSuite, ARefusalDoesNotForgetHowTheNameEnded) {
  const Ask ask{.tokens = 900, .quota = kQuota, .token = kName};
  const std::string held = Hold("gpt-4o", ask).reservation;
  ASSERT_EQ(Refund(held).code, Code::kSettled);
  EXPECT_FALSE(Hold("gpt-4o", {.tokens = 9000, .quota = kQuota, .token = kName}).fits());
  EXPECT_TRUE(Refund(held).again);
}

TEST_P(QuotaStoreSuite, ARefundedOrRefusedNameMayBeReservedAgain) {
  const Ask ask{.tokens = 900, .quota = kQuota, .token = kName};
  const std::string held = Hold("gpt-4o", ask).reservation;
  Refund(held);
  const ChargeAnswer second = Hold("gpt-4o", ask);
  EXPECT_FALSE(second.again);
  EXPECT_TRUE(second.charged);
  EXPECT_EQ(UsageOf("gpt-4o").tpm, 900);
  EXPECT_FALSE(Commit(second.reservation, 800).again);
  EXPECT_EQ(UsageOf("gpt-4o").tpm, 800);

  const ReservationToken other = NamedReservationToken({"alice", "key-2"});
  EXPECT_FALSE(Hold("gpt-4o", {.tokens = 1500, .quota = kQuota, .token = other}).fits());
  const ChargeAnswer smaller = Hold("gpt-4o", {.tokens = 15, .quota = kQuota, .token = other});
  EXPECT_TRUE(smaller.charged);
  EXPECT_FALSE(smaller.again);
}

// Clients repeat a refund whose answer they did not get.
TEST_P(QuotaStoreSuite, ARepeatedRefundEndsNoLaterReservationOfItsName) {
  const Ask ask{.tokens = 900, .quota = kQuota, .token = kName};
  std::vector<std::string> refunded;
  for (int i = 0; i < 3; ++i) {
    refunded.push_back(Hold("gpt-4o", ask).reservation);
    ASSERT_EQ(Refund(refunded.back()).code, Code::kSettled);
  }
  const ChargeAnswer held = Hold("gpt-4o", ask);
  ASSERT_TRUE(held.charged);
  const auto expect_only_the_last = [&](const ModelUsage& usage) {
    for (const std::string& earlier : refunded) {
      EXPECT_NE(earlier, held.reservation);
      EXPECT_TRUE(Refund(earlier).again);
      for (const SettlementAnswer& other :
           {Commit(earlier, 900), CommitSoFar(earlier, 100), Extend(earlier, hours(1))}) {
        EXPECT_EQ(other.code, Code::kSettledOtherwise);
        EXPECT_TRUE(other.refunded);
      }
    }
    EXPECT_EQ(UsageOf("gpt-4o"), usage);
    EXPECT_EQ(Hold("gpt-4o", ask).reservation, held.reservation);
  };
  expect_only_the_last(held.usage);
  EXPECT_FALSE(Commit(held.reservation, 300).again);
  expect_only_the_last({.rpm = 1, .tpm = 300, .rpd = 1, .day_start = kStart});
  EXPECT_TRUE(Commit(held.reservation, 300).again);
  ASSERT_TRUE(store().Reset("gpt-4o").ok());
  ASSERT_EQ(Hold("gpt-4o", ask).reservation, refunded.front());
  EXPECT_EQ(Refund(held.reservation).code, Code::kUnknown);
}

TEST_P(QuotaStoreSuite, ALaterReservationOfANameIsCommittedLateToo) {
  const Ask ask{.tokens = 900, .quota = kQuota, .token = kName};
  const std::string refunded = Hold("gpt-4o", ask).reservation;
  ASSERT_EQ(Refund(refunded).code, Code::kSettled);
  const std::string held = Hold("gpt-4o", ask).reservation;
  clock_.Advance(seconds(10));
  store().Prune();
  EXPECT_TRUE(Refund(refunded).again);
  EXPECT_EQ(Hold("gpt-4o", ask).reservation, held);
  EXPECT_TRUE(Commit(held, 300).late);
  EXPECT_EQ(UsageOf("gpt-4o").tpm, 300);
}

TEST_P(QuotaStoreSuite, ReportedUseOfACallStaysHoweverItEnds) {
  const TierCharge money{"user:alice", Window(kMoney, 10'000, hours(1))};
  const Ask ask{.tokens = 900, .money = 900, .quota = kQuota, .tiers = {money}};
  enum class End : uint8_t { kExpires, kIsRefunded, kIsCommitted, kIsCommittedLate };
  struct Case {
    int64_t so_far;
    End end;
    int64_t commits;  // if it commits
    int64_t counts;
  };
  const Case cases[] = {{100, End::kExpires, 0, 100},          {1200, End::kExpires, 0, 1200},
                        {100, End::kIsRefunded, 0, 100},       {1200, End::kIsRefunded, 0, 1200},
                        {100, End::kIsCommitted, 300, 300},    {1200, End::kIsCommitted, 1300, 1300},
                        {1200, End::kIsCommitted, 900, 1200},  {100, End::kIsCommittedLate, 300, 300},
                        {300, End::kIsCommittedLate, 100, 300}};
  for (const Case& c : cases) {
    SCOPED_TRACE(std::to_string(c.so_far) + " so far, end " + std::to_string(static_cast<int>(c.end)));
    const std::string held = Hold("gpt-4o", ask).reservation;
    clock_.Advance(seconds(9));
    EXPECT_EQ(CommitSoFar(held, c.so_far / 2, c.so_far / 2).code, Code::kSettled);
    EXPECT_EQ(UsageOf("gpt-4o").tpm, 900);
    const SettlementAnswer told = CommitSoFar(held, c.so_far, c.so_far);
    EXPECT_EQ(told.actual_tokens, c.so_far);
    EXPECT_EQ(told.reserved_tokens, 900);
    EXPECT_EQ(UsageOf("gpt-4o").tpm, std::max<int64_t>(900, c.so_far));
    EXPECT_EQ(UsageOf("gpt-4o").open_reservations, 1);
    clock_.Advance(seconds(9));
    if (c.end == End::kIsRefunded) {
      EXPECT_EQ(Refund(held).actual_tokens, c.so_far);
    }
    if (c.end == End::kExpires || c.end == End::kIsCommittedLate) clock_.Advance(seconds(1));
    if (c.end == End::kIsCommitted || c.end == End::kIsCommittedLate) {
      const SettlementAnswer settled = Commit(held, c.commits, c.commits);
      EXPECT_EQ(settled.late, c.end == End::kIsCommittedLate);
      EXPECT_EQ(settled.actual_tokens, c.counts);
    }
    const ModelUsage usage = UsageOf("gpt-4o");
    EXPECT_EQ(usage.tpm, c.counts);
    EXPECT_EQ(usage.rpm, 1);
    EXPECT_EQ(usage.rpd, 1);
    EXPECT_EQ(usage.open_reservations, 0);
    EXPECT_EQ(UsedOf("gpt-4o", money), c.counts);
    ASSERT_TRUE(store().Reset("gpt-4o").ok());
  }
}

TEST_P(QuotaStoreSuite, AnEndedReservationTakesNoMoreUse) {
  const std::string held = Hold("gpt-4o", {.tokens = 900}).reservation;
  const std::string expired = Hold("gpt-4o", {.tokens = 900}).reservation;
  ASSERT_EQ(Commit(held, 100).code, Code::kSettled);
  clock_.Advance(seconds(10));
  EXPECT_EQ(CommitSoFar(held, 200).code, Code::kSettledOtherwise);
  EXPECT_EQ(CommitSoFar(expired, 200).code, Code::kExpired);
  EXPECT_EQ(UsageOf("gpt-4o").tpm, 100);
}

TEST_P(QuotaStoreSuite, AnotherHandleKnowsTheNamesAndTheUse) {
  if (!tested_.open_another) GTEST_SKIP() << "not shared";
  const Ask ask{.tokens = 900, .quota = kQuota, .token = kName};
  const std::string held = Hold("gpt-4o", ask).reservation;
  ASSERT_EQ(CommitSoFar(held, 200).code, Code::kSettled);
  const auto other = tested_.open_another();
  const ChargeAnswer again = other->Run(Charge{.model = "gpt-4o",
                                               .mode = Charge::Mode::kHold,
                                               .tokens = 900,
                                               .default_quota = kQuota,
                                               .hold_for = seconds(10),
                                               .token = &kName});
  ASSERT_TRUE(again.again);
  EXPECT_EQ(again.reservation, held);
  EXPECT_EQ(other->Run(Settlement{.reservation = held}).actual_tokens, 200);
  EXPECT_EQ(UsageOf("gpt-4o").tpm, 200);
}

}  // namespace
}  // namespace weir
