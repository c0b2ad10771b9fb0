#include "relay/store/postgres/pool_size.h"

#include <gtest/gtest.h>

#include "tests/relay/store/postgres/simulated_database.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr PoolBounds kWide{.least = 1, .most = 200};

// Returns the mean size during the next minute.
double MeanOfAMinute(SimulatedDatabase& database, size_t pool) {
  double sum = 0;
  for (int i = 0; i < 60; ++i) {
    database.Run(seconds(1));
    sum += static_cast<double>(database.pool(pool).size.now());
  }
  return sum / 60;
}

// Expects the size within a quarter of the knee, or within one connection, because a step is a large part of a few.
void ExpectNear(double knee, double size) {
  EXPECT_GE(size, 0.75 * knee - 1);
  EXPECT_LE(size, 1.25 * knee + 1);
}

struct Place {
  int cores;
  bool is_far;  // three of four reads are on the way, so it takes four connections to keep a core busy
  double loss;
};

class PoolSizeProperty : public testing::TestWithParam<Place> {};

TEST_P(PoolSizeProperty, FindsAsManyConnectionsAsHelpAndRests) {
  for (const uint64_t seed : {1, 2}) {
    SimulatedDatabase database(seed);
    database.cores = GetParam().cores;
    database.work_seconds = 0.004;
    database.latency_seconds = GetParam().is_far ? 0.012 : 0;
    database.loss = GetParam().loss;
    const double knee = GetParam().cores * (GetParam().is_far ? 4 : 1);
    const size_t pool = database.AddPool(kWide, static_cast<size_t>(3 * knee + 3));
    database.Run(seconds(40));
    const PoolSize::Steps before = database.pool(pool).size.steps();
    database.ResetExtremes();
    const double size = MeanOfAMinute(database, pool);
    // A database that is far has no sharp knee: half as many connections more still bring some reads.
    EXPECT_GE(size, 0.75 * knee - 1);
    EXPECT_LE(size, (GetParam().is_far ? 1.5 : 1.25) * knee + 1);
    // The size rests most of the time, and no step leads far.
    const PoolSize::Steps after = database.pool(pool).size.steps();
    EXPECT_LE(after.tried() - before.tried(), 40U);
    EXPECT_LE(database.pool(pool).largest, static_cast<size_t>(2 * knee + 2));
    EXPECT_GE(database.pool(pool).smallest, static_cast<size_t>(knee / 2.5));
  }
}

INSTANTIATE_TEST_SUITE_P(, PoolSizeProperty,
                         testing::Values(Place{1, false, 0}, Place{2, false, 0.02}, Place{4, false, 0},
                                         Place{8, false, 0.02}, Place{2, true, 0}, Place{3, true, 0.02},
                                         Place{6, true, 0}));

TEST(PoolSizeTest, FollowsADatabaseThatSlowsAndRecovers) {
  SimulatedDatabase database(5);
  database.cores = 16;
  database.work_seconds = 0.004;
  const size_t pool = database.AddPool(kWide, 60);
  database.Run(seconds(30));
  ExpectNear(16, MeanOfAMinute(database, pool));
  database.cores = 4;
  database.Run(seconds(60));
  ExpectNear(4, MeanOfAMinute(database, pool));
  database.cores = 16;
  database.Run(seconds(90));
  ExpectNear(16, MeanOfAMinute(database, pool));
}

// The other relay takes a part of the database, and leaves again.
TEST(PoolSizeTest, TwoRelaysShareADatabase) {
  SimulatedDatabase database(2);
  database.cores = 12;
  database.work_seconds = 0.004;
  const size_t first = database.AddPool(kWide, 60);
  database.Run(seconds(60));
  const size_t second = database.AddPool(kWide, 60);
  database.Run(seconds(120));
  const double of_first = MeanOfAMinute(database, first);
  const double of_second = static_cast<double>(database.pool(second).size.now());
  EXPECT_GT(of_first, 4);
  EXPECT_GT(of_second, 4);
  EXPECT_LE(of_first + of_second, 3.5 * 12);
  database.SetCallers(second, 0);
  database.Run(seconds(90));
  ExpectNear(12, MeanOfAMinute(database, first));
  EXPECT_EQ(database.pool(second).size.now(), kWide.least);
}

TEST(PoolSizeTest, GrowsQuicklyForACrowdAndGivesBackWhenItLeaves) {
  SimulatedDatabase database(1);
  database.cores = 100;
  database.work_seconds = 0.002;
  const size_t pool = database.AddPool({.least = 2, .most = 32}, 100);
  EXPECT_EQ(database.pool(pool).size.now(), 2U);
  database.Run(seconds(2));
  EXPECT_EQ(database.pool(pool).size.now(), 32U);
  database.SetCallers(pool, 5);
  database.Run(seconds(25));
  EXPECT_EQ(database.pool(pool).size.now(), 5U);
  database.SetCallers(pool, 0);
  database.Run(seconds(25));
  EXPECT_EQ(database.pool(pool).size.now(), 2U);
}

// A few callers, for which there is room, are no reason for a step.
TEST(PoolSizeTest, RestsWithoutWaits) {
  SimulatedDatabase database(1);
  const size_t pool = database.AddPool({.least = 4, .most = 32}, 2);
  database.Run(seconds(60));
  EXPECT_EQ(database.pool(pool).size.steps().tried(), 0U);
}

TEST(PoolSizeTest, ANumberCanBeFixed) {
  SimulatedDatabase database(1);
  database.cores = 100;
  const size_t pool = database.AddPool({.least = 3, .most = 3}, 50);
  database.Run(seconds(20));
  EXPECT_EQ(database.pool(pool).smallest, 3U);
  EXPECT_EQ(database.pool(pool).largest, 3U);
}

// Two slow reads must not keep all others waiting, even if none of them ends.
TEST(PoolSizeTest, GrowsWhileNothingCompletes) {
  TimePoint now(seconds(1));
  PoolSize size({.least = 2, .most = 8}, now);
  size.Note(now, 2, 5);
  size.Note(now += PoolSize::kStalled, 2, 5);
  EXPECT_EQ(size.now(), 4U);
  size.Note(now, 4, 3);
  size.Note(now += milliseconds(1), 4, 3);
  for (int i = 0; i < 40; ++i) size.Finished(now += milliseconds(10), 4, 3);
  EXPECT_GE(size.now(), 4U) << "the step helped";
}

// No size helps against a lock: it stays small, and others are tried ever more seldom.
TEST(PoolSizeTest, DoesNotGrowIntoALock) {
  TimePoint now(seconds(1));
  PoolSize size({.least = 2, .most = 32}, now);
  for (int i = 0; i < 600; ++i) {
    size.Note(now += milliseconds(100), size.now(), 10);
    EXPECT_LE(size.now(), 4U);
  }
  EXPECT_LE(size.steps().tried(), 15U);
}

// A server that refuses a connection is taken at its word, and asked again later.
TEST(PoolSizeTest, ALimitOfTheServerHoldsForAWhile) {
  TimePoint now(seconds(1));
  PoolSize size({.least = 8, .most = 8}, now);
  size.Limit(3, now);
  EXPECT_EQ(size.now(), 3U);
  const TimePoint again = now + PoolSize::kLongestPause;
  while (now < again - milliseconds(20)) {
    size.Finished(now += milliseconds(10), 3, 5);
    ASSERT_EQ(size.now(), 3U);
  }
  for (int i = 0; i < 10'000; ++i) size.Finished(now += Duration(milliseconds(30)) / size.now(), size.now(), 5);
  EXPECT_EQ(size.now(), 8U);
  size.Limit(0, now);
  EXPECT_EQ(size.now(), 1U) << "one read at a time is always possible";
}

}  // namespace
}  // namespace weir
