// Counts and their keys: an expired key held nothing that still counted, and a key that is made anew starts new counts.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/manual_clock.h"
#include "tests/fixtures/redis_process.h"
#include "tests/throttle/limits/quota/redis/deciders.h"
#include "tests/throttle/limits/quota/redis/reaped_clock.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using enum Limit::Unit;
using Code = SettlementAnswer::Code;
using Tiers = std::vector<TierCharge>;
using Mode = Charge::Mode;

const std::string kModel = "gpt-4o";

class RedisExpiry : public testing::Test {
 protected:
  static constexpr WallTime kStart{seconds(1'771'597'921)};

  ChargeAnswer Run(Mode mode, int64_t tokens, const Tiers& tiers, Duration hold_for = seconds(10)) {
    return store_->Run({.model = kModel,
                        .mode = mode,
                        .tokens = tokens,
                        .tiers = tiers,
                        .default_quota = kWide,
                        .hold_for = hold_for});
  }
  ChargeAnswer Look(const Tiers& tiers) { return store_->Run({.model = kModel, .requests = 0, .tiers = tiers}); }
  int64_t UsedOf(const Tiers& tiers) { return Look(tiers).tiers.at(0).used; }
  SettlementAnswer Settle(const std::string& reservation, std::optional<int64_t> tokens) {
    return store_->Run(Settlement{.reservation = reservation, .tokens = tokens});
  }
  std::string Key(const std::string& end) const { return "weir:{" + kModel + "}:" + end; }

  static constexpr ModelQuota kWide{.max_rpm = 1'000'000};
  RedisProcess server_;
  ManualWallClock clock_{kStart};
  ReapedClock reaped_{clock_, server_};
  std::unique_ptr<RedisQuotaStore> store_ =
      OpenRedis(server_.url(), {.timeout = seconds(60), .connect_timeout = seconds(60), .clock = &reaped_});
};

TEST_F(RedisExpiry, GivingBackAnExpiredEntryTakesNothingFromOthers) {
  const Tiers tiers{{.key = "user:alice", .limit = {.unit = kTokens, .amount = 1000, .per = seconds(5)}}};
  const std::string old = Run(Mode::kHold, 900, tiers, hours(2)).reservation;
  clock_.Advance(hours(1));
  ASSERT_EQ(Run(Mode::kTake, 700, tiers).code, QuotaCode::kOk);
  EXPECT_EQ(Settle(old, {}).code, Code::kSettled);
  EXPECT_EQ(UsedOf(tiers), 700);
  EXPECT_EQ(Look({}).usage.tpm, 700);
}

TEST_F(RedisExpiry, GivingBackALostEntryTakesNothingFromOthers) {
  const Tiers tiers{{.key = "user:alice", .limit = {.unit = kTokens, .amount = 1000, .per = hours(1)}}};
  const std::string old = Run(Mode::kHold, 900, tiers, hours(2)).reservation;
  server_.Command({"DEL", Key("m"), Key("t:user:alice:t3600000")});
  ASSERT_EQ(Run(Mode::kTake, 700, tiers).code, QuotaCode::kOk);
  EXPECT_EQ(Settle(old, {}).code, Code::kSettled);
  EXPECT_EQ(UsedOf(tiers), 700);
  EXPECT_EQ(Look({}).usage, (ModelUsage{.rpm = 1, .tpm = 700, .rpd = 1, .day_start = kStart}));
}

TEST_F(RedisExpiry, ACommitOfMoreCountsWhenItsTierHasLongBeenEmpty) {
  const Tiers tiers{{.key = "user:alice", .limit = {.unit = kTokens, .amount = 1000, .per = seconds(5)}}};
  const std::string held = Run(Mode::kHold, 100, tiers, hours(2)).reservation;
  clock_.Advance(hours(1));
  EXPECT_EQ(server_.Command({"EXISTS", Key("t:user:alice:t5000")}).integer, 1);
  EXPECT_EQ(Settle(held, 400).code, Code::kSettled);
  EXPECT_EQ(UsedOf(tiers), 300);
}

TEST_F(RedisExpiry, AnExpiredReservationIsGivenBackHoweverLate) {
  const Tiers tiers{{.key = "user:alice", .limit = {.unit = kTokens, .amount = 1000, .per = hours(24 * 30)}}};
  ASSERT_EQ(Run(Mode::kHold, 900, tiers).code, QuotaCode::kOk);
  clock_.Advance(hours(12));
  EXPECT_EQ(Look({}).usage, ModelUsage());  // the day's count too
  ASSERT_EQ(Run(Mode::kHold, 900, tiers).code, QuotaCode::kOk);
  clock_.Advance(hours(24 * 20));
  EXPECT_EQ(UsedOf(tiers), 0);
  EXPECT_EQ(store_->Health().expired_reservations, 2);
}

TEST_F(RedisExpiry, KeysWithoutCountsExpire) {
  const Tiers tiers{{.key = "user:alice", .limit = {.unit = kTokens, .amount = 1000, .per = hours(2)}},
                    {.key = "a", .limit = {.kind = Limit::Kind::kBucket, .amount = 5, .per = hours(1), .burst = 9}}};
  ASSERT_EQ(Run(Mode::kHold, 900, tiers, hours(3)).code, QuotaCode::kOk);
  ASSERT_EQ(Run(Mode::kTake, 5, tiers).code, QuotaCode::kOk);
  clock_.Advance(hours(48));
  reaped_.Now();
  EXPECT_EQ(server_.Command({"KEYS", "*"}).texts(), std::vector<std::string>());
}

TEST_F(RedisExpiry, TheCountsOfTiersOutliveAQuietModel) {
  const Tiers tiers{{.key = "user:alice", .limit = {.unit = kTokens, .amount = 1000, .per = hours(24 * 30)}}};
  ASSERT_EQ(Run(Mode::kTake, 900, tiers).code, QuotaCode::kOk);
  clock_.Advance(hours(24 * 29));
  EXPECT_EQ(UsedOf(tiers), 900);
  ASSERT_EQ(Run(Mode::kTake, 50, tiers).code, QuotaCode::kOk);
  clock_.Advance(hours(24 * 29));
  EXPECT_EQ(UsedOf(tiers), 50);
  clock_.Advance(hours(24));
  EXPECT_EQ(UsedOf(tiers), 0);
}

TEST_F(RedisExpiry, AResetIsForEverAndLeavesNoKey) {
  const Tiers tiers{{.key = "user:alice", .limit = {.unit = kTokens, .amount = 1000, .per = hours(24 * 366)}}};
  ASSERT_EQ(Run(Mode::kTake, 900, tiers).code, QuotaCode::kOk);
  ASSERT_TRUE(store_->Reset(kModel).ok());
  EXPECT_EQ(UsedOf(tiers), 0);
  EXPECT_EQ(server_.Command({"KEYS", "*:q"}).texts(), std::vector<std::string>());
  clock_.Advance(hours(24 * 300));
  EXPECT_EQ(UsedOf(tiers), 0);
  ASSERT_EQ(Run(Mode::kTake, 70, tiers).code, QuotaCode::kOk);
  clock_.Advance(hours(24 * 365));
  EXPECT_EQ(UsedOf(tiers), 70);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(store_->Reset("never seen " + std::to_string(i)).ok());
  EXPECT_EQ(server_.Command({"DBSIZE"}).integer, 4);  // the names included
}

// The hold lacks its deadline across models, as one of an earlier weir does: only a request for its model, or a listing
// of all, finds it.
TEST_F(RedisExpiry, AListingGivesBackHoldsWithoutASharedDeadline) {
  const TierCharge calls{"user:alice", {.unit = kCalls, .amount = 1, .per = kCallCounts}, true};
  const auto hold = [&](const std::string& model) {
    return store_->Run({.model = model,
                        .mode = Mode::kHold,
                        .tiers = {&calls, 1},
                        .default_quota = kWide,
                        .hold_for = seconds(10),
                        .is_call = true});
  };
  ASSERT_TRUE(hold(kModel).fits());
  server_.Command({"DEL", "weir:due"});
  clock_.Advance(seconds(10));
  EXPECT_FALSE(hold("other").fits());
  ASSERT_TRUE(store_->ListModels().ok());
  EXPECT_TRUE(hold("other").fits());
}

}  // namespace
}  // namespace weir
