// Script behaviour that the suite does not reach: bounds, corrupt keys, many reservations, clock steps.
#include "throttle/limits/quota/redis/redis_script.h"

#include <gtest/gtest.h>

#include <functional>
#include <latch>
#include <limits>
#include <string>
#include <vector>

#include "config/manual_clock.h"
#include "tests/fixtures/redis_process.h"
#include "tests/throttle/limits/quota/redis/deciders.h"
#include "throttle/limits/quota/redis/redis_numbers.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using enum Limit::Unit;
using Code = SettlementAnswer::Code;
using Tiers = std::vector<TierCharge>;
using Mode = Charge::Mode;

const std::string kModel = "gpt-4o";
constexpr ModelQuota kWide{.max_rpm = 1'000'000};

std::string Number(double number) {
  std::string text;
  AppendRedisNumber(number, &text);
  return text;
}

class RedisScript : public testing::Test {
 protected:
  static constexpr WallTime kStart{seconds(1'771'597'921)};

  std::unique_ptr<RedisQuotaStore> Open(size_t max_models, size_t max_tier_keys) {
    return OpenRedis(server_.url(), {.timeout = seconds(60),
                                     .connect_timeout = seconds(60),
                                     .max_models = max_models,
                                     .max_tier_keys = max_tier_keys,
                                     .clock = &clock_});
  }
  ChargeAnswer Run(Mode mode, const Tiers& tiers = {}, std::optional<ModelQuota> quota = kWide, int64_t tokens = 1,
                   std::string_view model = kModel) {
    return store_->Run({.model = model,
                        .mode = mode,
                        .tokens = tokens,
                        .tiers = tiers,
                        .default_quota = quota,
                        .hold_for = seconds(10)});
  }
  ChargeAnswer Look(const Tiers& tiers = {}) { return store_->Run({.model = kModel, .requests = 0, .tiers = tiers}); }
  SettlementAnswer Settle(const std::string& reservation, std::optional<int64_t> tokens) {
    return store_->Run(Settlement{.reservation = reservation, .tokens = tokens});
  }
  // Returns the reservations' ids.
  std::vector<std::string> HoldMany(size_t count, Duration hold_for) {
    std::vector<std::string> ids(count);
    std::latch held(static_cast<std::ptrdiff_t>(count));
    for (std::string& id : ids)
      store_->Submit({.model = kModel, .mode = Mode::kHold, .tokens = 1, .hold_for = hold_for},
                     [&](const ChargeAnswer& answer) {
                       id = answer.reservation;
                       held.count_down();
                     });
    held.wait();
    return ids;
  }
  std::string Key(const std::string& end) const { return "weir:{" + kModel + "}:" + end; }
  void Poke(const std::string& key, size_t field, double number) {
    server_.Command({"SETRANGE", Key(key), std::to_string(field * kRedisNumberBytes), Number(number)});
  }

  RedisProcess server_;
  ManualWallClock clock_{kStart};
  std::unique_ptr<RedisQuotaStore> store_ = Open(1000, 1000);
};

const Limit kHour{.amount = 50, .per = hours(1)};

TEST_F(RedisScript, OnlyUnknownModelsAndTierKeysAreBounded) {
  store_ = Open(1, 1);
  EXPECT_TRUE(Run(Mode::kTake, {}, {}).fits());
  EXPECT_EQ(Run(Mode::kTake, {}, {}, 1, "another").code, QuotaCode::kTooManyNames);
  EXPECT_EQ(Run(Mode::kPeek, {}, {}, 1, "another").code, QuotaCode::kTooManyNames);
  EXPECT_TRUE(Run(Mode::kTake, {{"a", kHour}}).fits());
  EXPECT_EQ(Run(Mode::kTake, {{"b", kHour}}).code, QuotaCode::kTooManyNames);
  EXPECT_EQ(store_->Health().dropped_entries, 0U);
  EXPECT_TRUE(Run(Mode::kTake, {}, kWide, 1, "configured").fits());
  EXPECT_TRUE(Run(Mode::kHold, {}, kWide, 1, "another configured").fits());
  EXPECT_TRUE(Run(Mode::kTake, {{"a", kHour}}, {}).fits());  // the tier's key exists already
}

TEST_F(RedisScript, ForeignKeysTakeNoRoom) {
  store_ = Open(10, 10);
  server_.Command({"EVAL", "for i = 1, 5000 do redis.call('SET', 'foreign' .. i, '') end return 1", "0"});
  EXPECT_TRUE(Run(Mode::kTake, {{"user:alice", kHour}}, {}, 1, "unknown").fits());
  EXPECT_EQ(store_->Models().value(), std::vector<std::string>{"unknown"});
  EXPECT_EQ(store_->Health().warning, "");
}

TEST_F(RedisScript, ModelsAreListedWithoutASearchOfAllKeys) {
  ASSERT_TRUE(Run(Mode::kTake, {{"user:alice", kHour}}).fits());
  ASSERT_TRUE(store_->SetQuota("stated", ModelQuota{.max_rpm = 5}).ok());
  EXPECT_EQ(store_->Models().value(), (std::vector<std::string>{kModel, "stated"}));
  EXPECT_EQ(server_.Info("commandstats", "cmdstat_scan"), "");
  EXPECT_EQ(server_.Info("commandstats", "cmdstat_dbsize"), "");
}

TEST_F(RedisScript, RoomForNamesComesBackWhenTheirKeysExpire) {
  store_ = Open(2, 3);
  for (const char* user : {"a", "b", "c"}) ASSERT_TRUE(Run(Mode::kTake, {{user, kHour}}).fits()) << user;
  for (const char* model : {"x", "y"}) ASSERT_EQ(Run(Mode::kTake, {}, {}, 1, model).fits(), model == std::string("x"));
  EXPECT_EQ(Run(Mode::kTake, {{"d", kHour}}).code, QuotaCode::kTooManyNames);
  clock_.Advance(minutes(50));
  ASSERT_TRUE(Run(Mode::kTake, {{"c", kHour}}).fits());
  clock_.Advance(hours(1) + minutes(50));
  ASSERT_TRUE(Run(Mode::kTake, {{"c", kHour}}).fits());  // it lives longer, and counts as one name all the time
  clock_.Advance(minutes(30));
  for (const char* user : {"a", "b"}) server_.Command({"DEL", Key("t:" + std::string(user) + ":r3600000")});
  EXPECT_TRUE(Run(Mode::kTake, {{"d", kHour}, {"e", kHour}}).fits());
  EXPECT_EQ(Run(Mode::kTake, {{"f", kHour}}).code, QuotaCode::kTooManyNames);
  clock_.Advance(hours(48));
  EXPECT_TRUE(Run(Mode::kTake, {}, {}, 1, "y").fits());
}

TEST_F(RedisScript, ItIsWarnedOfBeforeTheRoomForNamesIsTaken) {
  store_ = Open(1000, 10);
  for (char user = 'a'; user < 'i'; ++user) ASSERT_TRUE(Run(Mode::kTake, {{std::string_view(&user, 1), kHour}}).fits());
  EXPECT_EQ(store_->Health().warning, "");
  ASSERT_TRUE(Run(Mode::kTake, {{"the ninth", kHour}}).fits());
  EXPECT_NE(store_->Health().warning.find("nine tenths of the names"), std::string::npos);
}

TEST_F(RedisScript, OnlyRequestersThatMayNameFindRoomForNewNames) {
  const Charge charge{.model = kModel, .mode = Mode::kTake, .default_quota = kWide, .may_name = false};
  EXPECT_TRUE(store_->Run(charge).fits());
  const Tiers tiers{{"user:new", kHour}};
  Charge named = charge;
  named.tiers = tiers;
  EXPECT_EQ(store_->Run(named).code, QuotaCode::kTooManyNames);
  named.may_name = true;
  EXPECT_EQ(store_->Run(named).new_names, 1U);
  EXPECT_EQ(store_->Run(named).new_names, 0U);
  named.may_name = false;
  EXPECT_TRUE(store_->Run(named).fits());
}

TEST_F(RedisScript, ARoomOfZeroHoldsNoNames) {
  store_ = Open(0, 0);
  EXPECT_EQ(Run(Mode::kTake, {}, {}).code, QuotaCode::kTooManyNames);
  EXPECT_EQ(Run(Mode::kTake, {{"a", kHour}}).code, QuotaCode::kTooManyNames);
  EXPECT_TRUE(Run(Mode::kTake).fits());
}

TEST_F(RedisScript, ForceChargesOnlyTheNamesThatFindRoom) {
  store_ = Open(0, 2);
  const Tiers three{{"a", kHour}, {"b", kHour}, {"c", kHour}};
  const ChargeAnswer answer = Run(Mode::kForce, three);
  EXPECT_EQ(answer.code, QuotaCode::kTooManyNames);
  EXPECT_TRUE(answer.charged);
  EXPECT_EQ(answer.usage.rpm, 1);
  std::vector<int64_t> used;
  for (const TierUsage& tier : Look(three).tiers) used.push_back(tier.used);
  EXPECT_EQ(used, (std::vector<int64_t>{1, 1, 0}));
  EXPECT_EQ(store_->Health().dropped_entries, 1U);
  const std::string held = Run(Mode::kForceHold, three).reservation;
  EXPECT_EQ(store_->Health().dropped_entries, 2U);
  EXPECT_EQ(Settle(held, {}).code, Code::kSettled);
  EXPECT_EQ(Look(three).usage.rpm, 1);
  const ChargeAnswer unknown = Run(Mode::kForce, {}, {}, 1, "unknown");
  EXPECT_EQ(unknown.code, QuotaCode::kTooManyNames);
  EXPECT_FALSE(unknown.charged);
  EXPECT_EQ(store_->Health().dropped_entries, 3U);
}

TEST_F(RedisScript, ATierOfTokensIsANameEvenIfNoTokensAreReserved) {
  store_ = Open(0, 0);
  const Tiers tiers{{"a", {.unit = kTokens, .amount = 50, .per = hours(1)}}};
  EXPECT_EQ(Run(Mode::kHold, tiers, kWide, 0).code, QuotaCode::kTooManyNames);
  EXPECT_TRUE(Run(Mode::kTake, tiers, kWide, 0).fits());
}

TEST_F(RedisScript, OpenReservationsAreBounded) {
  ASSERT_TRUE(Run(Mode::kHold).fits());
  Poke("m", static_cast<size_t>(RedisModelField::kOpen), kMostOpenReservations);
  const ChargeAnswer refused = Run(Mode::kHold);
  EXPECT_EQ(refused.code, QuotaCode::kTooManyNames);
  EXPECT_FALSE(refused.charged);
  EXPECT_FALSE(Run(Mode::kForceHold).charged);
  EXPECT_EQ(store_->Health().dropped_entries, 1U);
  EXPECT_TRUE(Run(Mode::kTake).charged);
}

TEST_F(RedisScript, ASettlementBehindManyExpiredReservationsIsLate) {
  const std::vector<std::string> first = HoldMany(kMostExpiredAtOnce, seconds(10));
  const std::vector<std::string> last = HoldMany(2, seconds(11));
  clock_.Advance(seconds(11));
  EXPECT_TRUE(Settle(last[0], {}).late);
  EXPECT_EQ(store_->Health().expired_reservations, kMostExpiredAtOnce + 1);
  EXPECT_EQ(Look().usage, ModelUsage());
  EXPECT_EQ(store_->Health().expired_reservations, kMostExpiredAtOnce + 2);
}

TEST_F(RedisScript, ManyReservationsOutliveAClockThatStepsBack) {
  constexpr size_t kMany = 2500;
  HoldMany(kMany, hours(1));
  clock_.Advance(-microseconds(1));
  EXPECT_EQ(Look().usage.open_reservations, kMany);
  clock_.Advance(-hours(2));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Look().usage.open_reservations, kMany);
  clock_.Advance(hours(1) - microseconds(1));
  EXPECT_EQ(Look().usage.open_reservations, kMany);
  clock_.Advance(microseconds(1));
  for (int i = 0; i < 3; ++i) Look();
  EXPECT_EQ(Look().usage, ModelUsage());
}

TEST_F(RedisScript, ALongWaitIsTheLongestThereIs) {
  const Limit days{.unit = kTokens, .kind = Limit::Kind::kBucket, .amount = 1, .per = hours(24), .burst = 200'000};
  const Limit most{
      .unit = kTokens, .kind = Limit::Kind::kBucket, .amount = 1, .per = hours(24 * 366), .burst = kMostAmount};
  for (const Limit& limit : {days, most}) {
    const Tiers tiers{{"a", limit}};
    ASSERT_TRUE(Run(Mode::kTake, tiers, kWide, limit.burst).fits());
    const ChargeAnswer refused = Run(Mode::kTake, tiers, kWide, limit.burst);
    EXPECT_EQ(refused.code, QuotaCode::kTierExceeded);
    EXPECT_GT(refused.retry_after.value(), hours(24 * 365 * 290));
  }
}

TEST_F(RedisScript, NegativeAmountsCountAsNothing) {
  EXPECT_EQ(Run(Mode::kTake, {}, kWide, -5).usage.tpm, 0);
  const std::string held = Run(Mode::kHold, {}, kWide, 50).reservation;
  const SettlementAnswer settled = Settle(held, -1);
  EXPECT_EQ(settled.code, Code::kSettled);
  EXPECT_EQ(settled.actual_tokens, 0);
  EXPECT_EQ(Look().usage, (ModelUsage{.rpm = 2, .tpm = 0, .rpd = 2, .day_start = kStart}));
}

TEST_F(RedisScript, ABucketIsPaidOffAtTheRateThatItWasLastAskedWith) {
  const auto bucket = [](int64_t amount, int64_t burst) {
    return Tiers{
        {"a", {.unit = kTokens, .kind = Limit::Kind::kBucket, .amount = amount, .per = seconds(10), .burst = burst}}};
  };
  ASSERT_TRUE(Run(Mode::kTake, bucket(10, 100), kWide, 100).fits());
  EXPECT_EQ(Look(bucket(10, 40)).tiers[0].used, 100);
  EXPECT_EQ(Look(bucket(10, 100)).tiers[0].used, 100);
  clock_.Advance(seconds(10));
  EXPECT_EQ(Look(bucket(30, 100)).tiers[0].used, 90);
  clock_.Advance(seconds(1));
  EXPECT_EQ(Look(bucket(10, 100)).tiers[0].used, 87);
  clock_.Advance(seconds(1));
  EXPECT_EQ(Look(bucket(10, 100)).tiers[0].used, 86);
}

TEST_F(RedisScript, ABucketGetsBackNoMoreThanItIsStillOwed) {
  const Tiers tiers{
      {"a", {.unit = kTokens, .kind = Limit::Kind::kBucket, .amount = 10, .per = seconds(10), .burst = 100}}};
  const std::string held = Run(Mode::kHold, tiers, kWide, 50).reservation;
  clock_.Advance(seconds(9));
  ASSERT_TRUE(Run(Mode::kTake, tiers, kWide, 59).fits());
  EXPECT_EQ(Settle(held, {}).code, Code::kSettled);
  EXPECT_EQ(Look(tiers).tiers[0].used, 59);
}

TEST_F(RedisScript, ASumThatIsNotExactLeavesTheOtherAlone) {
  for (int i = 0; i < 10; ++i) Run(Mode::kForce, {}, kWide, kMostAmount);
  const std::string held = Run(Mode::kForceHold, {}, kWide, 5).reservation;
  EXPECT_EQ(Look().usage.rpm, 11);
  ASSERT_EQ(Settle(held, {}).code, Code::kSettled);
  EXPECT_EQ(Look().usage.rpm, 10);
  clock_.Advance(kMinute);
  EXPECT_EQ(Look().usage.tpm, 0);
}

// Corrupt data is refused, and the error names the key.
TEST_F(RedisScript, ACorruptKeyIsNamed) {
  const Tiers tiers{{"a", kHour}, {"b", {.kind = Limit::Kind::kBucket, .amount = 5, .per = seconds(60), .burst = 9}}};
  const auto head = static_cast<size_t>(RedisModelField::kHead);
  const auto tail = static_cast<size_t>(RedisModelField::kTail);
  const std::string log = "t:a:r3600000", bucket = "t:b:rb60000";
  struct Damage {
    std::string key;
    std::function<void()> inflict;
  };
  std::vector<Damage> damages;
  for (const std::string& key : {std::string("m"), std::string("q"), log, bucket}) {
    damages.push_back({key, [this, key] { server_.Command({"SET", Key(key), "short"}); }});
    damages.push_back({key, [this, key] {
                         server_.Command({"DEL", Key(key)});
                         server_.Command({"HSET", Key(key), "a", "b"});
                       }});
  }
  for (const std::string& key : {std::string("m"), log}) {
    damages.push_back({key, [=, this] { Poke(key, tail, 1e300); }});
    damages.push_back({key, [=, this] { Poke(key, tail, std::numeric_limits<double>::infinity()); }});
    damages.push_back({key, [=, this] { Poke(key, head, std::numeric_limits<double>::quiet_NaN()); }});
    damages.push_back({key, [=, this] { Poke(key, head, -1e9); }});
  }
  for (const Damage& damage : damages) {
    server_.Command({"FLUSHALL"});
    ASSERT_TRUE(Run(Mode::kTake, tiers).fits());
    ASSERT_TRUE(store_->SetQuota(kModel, kWide).ok());
    damage.inflict();
    clock_.Advance(kMinute);
    const ChargeAnswer answer = Run(Mode::kTake, tiers);
    EXPECT_EQ(answer.code, QuotaCode::kStoreUnavailable);
    EXPECT_NE(answer.problem.find(Key(damage.key)), std::string::npos) << damage.key << ": " << answer.problem;
  }
}

// This happens during a slot move, when a tier's key cannot be read: nothing is settled now, and everything later.
TEST_F(RedisScript, AReservationWithAnUnreadableTierIsSettledLater) {
  const Tiers tiers{{"a", kHour}, {"b", kHour}};
  const std::string b = Key("t:b:r3600000");
  for (const bool sweep : {false, true}) {
    const std::string held = Run(Mode::kHold, tiers, kWide, 30).reservation;
    if (sweep) clock_.Advance(seconds(10));
    server_.Command({"RENAME", b, "aside"});
    server_.Command({"HSET", b, "a", "b"});
    EXPECT_EQ(Settle(held, {}).code, Code::kStoreUnavailable);
    EXPECT_EQ(Settle(held, {}).code, Code::kStoreUnavailable);
    server_.Command({"DEL", b});
    server_.Command({"RENAME", "aside", b});
    const SettlementAnswer settled = Settle(held, {});
    EXPECT_EQ(settled.code, Code::kSettled);
    EXPECT_EQ(settled.late, sweep);
    const ChargeAnswer after = Look(tiers);
    EXPECT_EQ(after.usage, ModelUsage());
    EXPECT_EQ(after.tiers[0].used, 0);
    EXPECT_EQ(after.tiers[1].used, 0);
  }
}

}  // namespace
}  // namespace weir
