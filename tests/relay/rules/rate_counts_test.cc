#include "relay/rules/rate_counts.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class RateCountsTest : public testing::Test {
 protected:
  Duration Take(uint64_t key) { return counts_.Take(key, now_); }

  RateCounts counts_{{.events = 3, .per = minutes(1)}, RateCounts::kWays * 64};
  TimePoint now_{seconds(1000)};
};

TEST_F(RateCountsTest, AllowsABurstAndThenAnEvenRate) {
  for (int n = 0; n < 3; ++n) EXPECT_EQ(Take(1), Duration::zero());
  EXPECT_EQ(Take(1), seconds(20));
  now_ += seconds(19);
  EXPECT_EQ(Take(1), seconds(1));
  now_ += seconds(1);
  EXPECT_EQ(Take(1), Duration::zero());
  EXPECT_EQ(Take(1), seconds(20));
}

TEST_F(RateCountsTest, ARefusalTakesNothing) {
  for (int n = 0; n < 3; ++n) Take(1);
  for (int n = 0; n < 100; ++n) EXPECT_EQ(Take(1), seconds(20));
}

TEST_F(RateCountsTest, IsFullAgainAfterItsTime) {
  for (int n = 0; n < 3; ++n) Take(1);
  now_ += minutes(1);
  for (int n = 0; n < 3; ++n) EXPECT_EQ(Take(1), Duration::zero());
  EXPECT_NE(Take(1), Duration::zero());
}

TEST_F(RateCountsTest, KeysDoNotShare) {
  for (int n = 0; n < 3; ++n) Take(1);
  EXPECT_EQ(Take(2), Duration::zero());
}

TEST_F(RateCountsTest, WhatIsGivenBackMayBeTakenAgain) {
  for (int n = 0; n < 3; ++n) Take(1);
  counts_.GiveBack(1);
  EXPECT_EQ(Take(1), Duration::zero());
  EXPECT_NE(Take(1), Duration::zero());
}

TEST_F(RateCountsTest, AStepBackOfTheClockFreesNothing) {
  for (int n = 0; n < 3; ++n) Take(1);
  now_ -= seconds(5);
  EXPECT_EQ(Take(1), seconds(25));
}

// All keys share one set of places: their hashes have the same part and the same upper half.
TEST_F(RateCountsTest, AFloodOfKeysNeverFreesTheBusiestOne) {
  for (int n = 0; n < 3; ++n) Take(64);
  for (uint64_t key = 2; key < 1000; ++key) {
    EXPECT_EQ(Take(key * 64), Duration::zero());
    EXPECT_NE(Take(64), Duration::zero()) << key;
  }
}

TEST_F(RateCountsTest, TheFastestRateIsCountedToo) {
  RateCounts counts({.events = Rate::kMostEvents, .per = seconds(1)}, RateCounts::kWays * 64);
  for (uint64_t n = 0; n < Rate::kMostEvents; ++n) ASSERT_EQ(counts.Take(1, now_), Duration::zero());
  EXPECT_EQ(counts.Take(1, now_), std::chrono::microseconds(1));
}

}  // namespace
}  // namespace weir
