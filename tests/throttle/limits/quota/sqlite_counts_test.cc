// Totals of a SQLite file's rows: reservations and what they hold, what is forgotten, how much is kept.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/throttle/limits/quota/sqlite_fixture.h"
#include "throttle/limits/quota/window_log.h"

namespace weir {
namespace {

TEST_F(SqliteStore, WindowsAreCoarserWhenTheFileIsTooLarge) {
  const auto store = Open({.max_file_bytes = 1});
  const TierCharge tier = TokensIn(kMinute);
  store->Prune();
  for (int64_t i = 1; i <= 500; ++i) {
    clock_.Advance(std::chrono::milliseconds(100));
    const Charge take{.model = "o1", .mode = Charge::Mode::kTake, .tokens = 1, .tiers = {&tier, 1}};
    EXPECT_EQ(store->Run(take).tiers.at(0).used, i);
  }
  EXPECT_LE(std::stoul(Foreigner(path_).Ask("SELECT max(rows) FROM weir_meters")), WindowLog::kFreeEntries);
  clock_.Advance(kMinute);
  EXPECT_EQ(store->Run(Charge{.model = "o1", .requests = 0, .tiers = {&tier, 1}}).tiers.at(0).used, 0);
}

using std::chrono::milliseconds;
using std::chrono::seconds;
class SqliteCounts : public SqliteStore {};

// More reservations expire than one call releases, and the charge makes room for a name in between.
TEST_F(SqliteCounts, WhatExpiresWhileAChargeMakesRoomIsReleasedForGood) {
  const auto store = Open({.max_tier_keys = 1});
  const std::vector<TierCharge> known = {{.key = "user:alice", .limit = {.amount = 1'000'000, .per = kDay}}};
  std::vector<TierCharge> more = known;
  more.push_back({.key = "user:bob", .limit = {.amount = 1'000'000, .per = kDay}});
  constexpr int kHolds = 2500;
  for (int i = 0; i < kHolds; ++i) {
    ASSERT_TRUE(
        store->Run(Charge{.model = "o1", .mode = Charge::Mode::kHold, .tiers = known, .hold_for = seconds(20)}).fits());
  }
  clock_.Advance(kMinute);
  store->Run(Charge{.model = "o1", .mode = Charge::Mode::kForce, .tiers = more});
  ChargeAnswer now;
  int calls = 0;
  do {
    ASSERT_LT(++calls, kHolds) << now.usage.open_reservations << " reservations stay open";
    now = store->Run(Charge{.model = "o1", .requests = 0, .tiers = known});
  } while (now.usage.open_reservations > 0);
  EXPECT_EQ(now.tiers.at(0).used, 1);
}

TEST_F(SqliteCounts, ACountThatAReservationHoldsIsNotForgotten) {
  const auto store = Open();
  for (const int64_t reserved : {1000, 0}) {
    const TierCharge tier = TokensIn(kMinute);
    const ChargeAnswer held = store->Run(Charge{.model = "o1",
                                                .mode = Charge::Mode::kHold,
                                                .tokens = reserved,
                                                .tiers = {&tier, 1},
                                                .hold_for = std::chrono::minutes(10)});
    clock_.Advance(kMinute + seconds(1));
    store->Prune();
    ASSERT_EQ(store->Run(Settlement{.reservation = held.reservation, .tokens = 5000}).code,
              SettlementAnswer::Code::kSettled);
    const ChargeAnswer after = store->Run(Charge{.model = "o1", .requests = 0, .tiers = {&tier, 1}});
    EXPECT_EQ(after.tiers.at(0).used, 5000 - reserved);
    clock_.Advance(kMinute);
  }
  clock_.Advance(kDay);
  store->Prune();
  EXPECT_EQ(Foreigner(path_).Ask("SELECT count(*) FROM weir_meters WHERE key <> ''"), "0");
}

// The search for room may forget one of the counts that the very same charge uses.
TEST_F(SqliteCounts, AChargeThatForgetsItsOwnCountsForRoomIsCounted) {
  const auto store = Open({.max_tier_keys = 2});
  const std::vector<TierCharge> tiers = {TokensIn(kMinute, "user:a"), TokensIn(kMinute, "user:b"),
                                         TokensIn(kMinute, "user:c")};
  const auto take = [&](std::vector<TierCharge> of) {
    return store->Run(Charge{.model = "o1", .mode = Charge::Mode::kTake, .tokens = 3, .tiers = of});
  };
  ASSERT_TRUE(take({tiers[0], tiers[1]}).charged);
  clock_.Advance(kMinute);
  ASSERT_TRUE(take({tiers[0], tiers[2]}).charged);
  const ChargeAnswer peek = store->Run(Charge{.model = "o1", .requests = 0, .tiers = tiers});
  EXPECT_EQ(peek.tiers.at(0).used, 3);
  EXPECT_EQ(peek.tiers.at(1).used, 0);
  EXPECT_EQ(peek.tiers.at(2).used, 3);
  Foreigner reader(path_);
  EXPECT_EQ(reader.Ask("SELECT count(*) FROM weir_entries WHERE meter NOT IN (SELECT id FROM weir_meters)"), "0");
}

TEST_F(SqliteCounts, ManyReservationsExpireInParts) {
  const auto store = Open();
  constexpr int kHeld = 2500;
  std::string last;
  for (int i = 0; i < kHeld; ++i) {
    const Charge hold{.model = "o1", .mode = Charge::Mode::kHold, .tokens = 2, .hold_for = seconds(10)};
    last = store->Run(hold).reservation;
  }
  clock_.Advance(seconds(10));
  EXPECT_TRUE(store->Run(Settlement{.reservation = last}).late);
  EXPECT_GE(store->Run(Charge{.model = "o1", .requests = 0}).usage.open_reservations, kHeld - 2001);
  EXPECT_EQ(store->Run(Charge{.model = "o1", .requests = 0}).usage, ModelUsage{});
  EXPECT_EQ(store->Health().expired_reservations, static_cast<uint64_t>(kHeld));
}

TEST_F(SqliteCounts, AClockThatSwingsDoesNotFillTheFile) {
  const auto store = Open();
  const TierCharge tier = TokensIn(kMinute);
  constexpr int kTaken = 10'000;
  for (int i = 0; i < kTaken; ++i) {
    clock_.Advance(i % 2 == 0 ? milliseconds(500) : milliseconds(-500));
    const Charge take{.model = "o1", .mode = Charge::Mode::kTake, .tokens = 3, .tiers = {&tier, 1}};
    (void)store->Run(take);
  }
  const auto most = 2 * static_cast<int64_t>(store->exact_entries());
  Foreigner reader(path_);
  EXPECT_EQ(reader.Ask("SELECT count(*) FROM weir_meters"), "3");
  EXPECT_LE(std::stoll(reader.Ask("SELECT max(n) FROM (SELECT count(*) AS n FROM weir_entries GROUP BY meter)")), most);
  const ChargeAnswer peek = store->Run(Charge{.model = "o1", .requests = 0, .tiers = {&tier, 1}});
  EXPECT_EQ(peek.usage.tpm, 3 * kTaken);
  EXPECT_EQ(peek.tiers.at(0).used, 3 * kTaken);
}

// A charge that names one count twice is charged twice.
TEST_F(SqliteCounts, ACountThatIsNamedTwiceIsOne) {
  const auto store = Open();
  const std::vector<TierCharge> tiers = {TokensIn(kMinute), TokensIn(kMinute)};
  const ChargeAnswer held = store->Run(
      Charge{.model = "o1", .mode = Charge::Mode::kHold, .tokens = 3, .tiers = tiers, .hold_for = seconds(10)});
  ASSERT_TRUE(held.charged) << held.problem;
  EXPECT_EQ(held.tiers.at(0).used, 6);
  EXPECT_EQ(held.tiers.at(1).used, 6);
  EXPECT_EQ(Foreigner(path_).Ask("SELECT count(*) FROM weir_meters WHERE key <> ''"), "1");
  ASSERT_EQ(store->Run(Settlement{.reservation = held.reservation}).code, SettlementAnswer::Code::kSettled);
  EXPECT_EQ(store->Run(Charge{.model = "o1", .requests = 0, .tiers = tiers}).tiers.at(0).used, 0);
}

// The clock steps back to the moment of the reservation, after its entries have left.
TEST_F(SqliteCounts, AReservationWhoseEntriesHaveLeftTakesNothingFromOthers) {
  const auto store = Open();
  const TierCharge tier = TokensIn(seconds(5));
  const Charge hold{
      .model = "o1", .mode = Charge::Mode::kHold, .tokens = 7, .tiers = {&tier, 1}, .hold_for = std::chrono::hours(48)};
  const ChargeAnswer held = store->Run(hold);
  clock_.Advance(kDay);
  (void)store->Run(Charge{.model = "o1", .requests = 0, .tiers = {&tier, 1}});
  clock_.Advance(-kDay);
  (void)store->Run(Charge{.model = "o1", .mode = Charge::Mode::kTake, .tokens = 7, .tiers = {&tier, 1}});
  ASSERT_EQ(store->Run(Settlement{.reservation = held.reservation}).code, SettlementAnswer::Code::kSettled);
  const ChargeAnswer after = store->Run(Charge{.model = "o1", .requests = 0, .tiers = {&tier, 1}});
  EXPECT_EQ(after.usage, (ModelUsage{.rpm = 1, .tpm = 7, .rpd = 1, .day_start = kSqliteStart}));
  EXPECT_EQ(after.tiers.at(0).used, 7);
}

}  // namespace
}  // namespace weir
