// Eight processes on one SQLite file.
#include <gtest/gtest.h>

#include <memory>

#include "config/manual_clock.h"
#include "tests/quota/hammer.h"
#include "tests/temp_directory.h"
#include "throttle/quota/sqlite/sqlite_store.h"

namespace weir {
namespace {

constexpr size_t kProcesses = 8;

class SqliteHammer : public testing::Test {
 protected:
  std::unique_ptr<SqliteQuotaStore> Open(const WallClock& clock = WallClock::System()) {
    Result<std::unique_ptr<SqliteQuotaStore>> store = SqliteQuotaStore::Open(path_, {}, clock);
    EXPECT_TRUE(store.ok()) << store.status().message();
    return store.ok() ? std::move(store).value() : nullptr;
  }

  TempDirectory directory_;
  std::string path_ = directory_ / "quota.db";
  std::string url_ = "sqlite:" + path_;
};

TEST_F(SqliteHammer, TogetherTheyTakeTheLimitAndNoMore) {
  constexpr int64_t kLimit = 4000;
  const HammerSum sum = HammerTakes(url_, kProcesses, kLimit);
  EXPECT_EQ(sum.failed, 0);
  EXPECT_EQ(sum.tokens, kLimit);
  const auto store = Open();
  ModelUsage usage;
  EXPECT_EQ(HammeredTokens(*store, &usage), kLimit);
  EXPECT_EQ(usage.rpd, sum.requests);
}

TEST_F(SqliteHammer, NoWindowThatSlidesHasMoreThanItsLimit) {
  constexpr int64_t kLimit = 200;
  const HammerWindow window = HammerSlidingWindow(url_, kProcesses, kLimit);
  EXPECT_EQ(window.failed, 0);
  EXPECT_LE(window.most, kLimit);
  EXPECT_GT(window.taken, kLimit);
}

TEST_F(SqliteHammer, NoCountIsLost) {
  constexpr int64_t kTimes = 100;
  const HammerSum sum = HammerRecords(url_, kProcesses, kTimes);
  EXPECT_EQ(sum.failed, 0);
  EXPECT_EQ(sum.tokens, 3 * kTimes * static_cast<int64_t>(kProcesses));
  const auto store = Open();
  ModelUsage usage;
  EXPECT_EQ(HammeredTokens(*store, &usage), sum.tokens);
  EXPECT_EQ(usage.rpd, sum.requests);
}

TEST_F(SqliteHammer, ReservationsOfManyProcessesAreSettledExactly) {
  const HammerSum sum = HammerReservations(url_, kProcesses, 30);
  EXPECT_EQ(sum.failed, 0);
  const auto store = Open();
  ModelUsage usage;
  EXPECT_EQ(HammeredTokens(*store, &usage), sum.tokens);
  EXPECT_EQ(usage.rpd, sum.requests);
  EXPECT_EQ(usage.open_reservations, 0);
}

TEST_F(SqliteHammer, WhatAKilledProcessHadReservedIsFreeAtItsDeadline) {
  constexpr size_t kHolders = 4;
  ASSERT_EQ(HammerKilledHolders(url_, kHolders), kHolders);
  ManualWallClock clock(WallClock::System().Now());
  const auto store = Open(clock);
  ModelUsage usage;
  EXPECT_EQ(HammeredTokens(*store, &usage), 10 * static_cast<int64_t>(kHolders));
  EXPECT_EQ(usage.open_reservations, static_cast<int64_t>(kHolders));
  // What the shorter tier had has left; the reservations are open all the same.
  clock.Advance(kMinute);
  store->Prune();
  EXPECT_EQ(HammeredTokens(*store, &usage), 10 * static_cast<int64_t>(kHolders));
  EXPECT_EQ(usage.open_reservations, static_cast<int64_t>(kHolders));
  clock.Advance(std::chrono::hours(1));
  EXPECT_EQ(HammeredTokens(*store, &usage), 0);
  EXPECT_EQ(usage, ModelUsage{});
  EXPECT_EQ(store->Health().expired_reservations, kHolders);
}

}  // namespace
}  // namespace weir
