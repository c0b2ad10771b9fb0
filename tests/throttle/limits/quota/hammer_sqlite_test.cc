// Eight processes on one SQLite file.
#include <gtest/gtest.h>

#include <memory>

#include "tests/fixtures/temp_directory.h"
#include "tests/throttle/limits/quota/hammer_checks.h"
#include "throttle/limits/quota/sqlite/sqlite_store.h"

namespace weir {
namespace {

class SqliteHammer : public testing::Test {
 protected:
  std::unique_ptr<QuotaStore> Open(const WallClock& clock = WallClock::System()) {
    Result<std::unique_ptr<QuotaStore>> store = OpenSqliteQuotaStore(path_, {}, clock);
    EXPECT_TRUE(store.ok()) << store.status().message();
    return store.ok() ? std::move(store).value() : nullptr;
  }

  TempDirectory directory_;
  std::string path_ = directory_ / "quota.db";
  std::string url_ = "sqlite:" + path_;
};

TEST_F(SqliteHammer, TogetherTheyTakeTheLimitAndNoMore) {
  constexpr int64_t kLimit = 4000;
  const HammerSum sum = HammerTakes(url_, kHammerProcesses, kLimit);
  EXPECT_EQ(sum.failed, 0);
  EXPECT_EQ(sum.tokens, kLimit);
  const auto store = Open();
  ModelUsage usage;
  EXPECT_EQ(HammeredTokens(*store, &usage), kLimit);
  EXPECT_EQ(usage.rpd, sum.requests);
}

TEST_F(SqliteHammer, NoWindowThatSlidesHasMoreThanItsLimit) { CheckThatNoWindowHasMoreThanItsLimit(url_); }

TEST_F(SqliteHammer, NoCountIsLost) {
  constexpr int64_t kTimes = 100;
  const HammerSum sum = HammerRecords(url_, kHammerProcesses, kTimes);
  EXPECT_EQ(sum.failed, 0);
  EXPECT_EQ(sum.tokens, 3 * kTimes * static_cast<int64_t>(kHammerProcesses));
  const auto store = Open();
  ModelUsage usage;
  EXPECT_EQ(HammeredTokens(*store, &usage), sum.tokens);
  EXPECT_EQ(usage.rpd, sum.requests);
}

TEST_F(SqliteHammer, ReservationsOfManyProcessesAreSettledExactly) {
  const HammerSum sum = HammerReservations(url_, kHammerProcesses, 30);
  EXPECT_EQ(sum.failed, 0);
  const auto store = Open();
  ModelUsage usage;
  EXPECT_EQ(HammeredTokens(*store, &usage), sum.tokens);
  EXPECT_EQ(usage.rpd, sum.requests);
  EXPECT_EQ(usage.open_reservations, 0);
}

TEST_F(SqliteHammer, ReservationsOfAKilledProcessEndAtTheirDeadline) {
  CheckThatKilledHoldersGiveBack(url_, [this](const WallClock& clock) { return Open(clock); });
}

}  // namespace
}  // namespace weir
