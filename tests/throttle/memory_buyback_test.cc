#include "throttle/memory_buyback.h"

#include <gtest/gtest.h>

#include <vector>

namespace weir {
namespace {

using std::chrono::milliseconds;

constexpr double kMark = 0.7;

class MemoryBuybackTest : public testing::Test {
 protected:
  // Updates ten times a second, as the limiter does.
  MemoryBuyback::Step Hold(double level, double for_seconds) {
    MemoryBuyback::Step step;
    for (const TimePoint end = now_ + FromSeconds(for_seconds); now_ < end; now_ += milliseconds(100)) {
      step = buyback_.Update(now_, level, kMark);
      if (step.flush) ++flushes_;
      if (step.purge) ++purges_;
    }
    return step;
  }

  TimePoint now_{std::chrono::hours(1)};
  MemoryBuyback buyback_;
  int flushes_ = 0;
  int purges_ = 0;
};

TEST_F(MemoryBuybackTest, DoesNothingAtTheMark) {
  EXPECT_EQ(Hold(kMark, 60).cache_share, 1);
  EXPECT_EQ(flushes_, 0);
}

TEST_F(MemoryBuybackTest, IgnoresBriefRisesThatWaitingFrees) {
  for (int i = 0; i < 20; ++i) {
    Hold(0.9, 1.5);
    EXPECT_EQ(Hold(0.6, 1).cache_share, 1);
  }
  EXPECT_EQ(flushes_, 0);
}

TEST_F(MemoryBuybackTest, TakesAnEighthOfTheCacheEachSecondDownToAQuarter) {
  EXPECT_EQ(Hold(0.8, 2.05).cache_share, 1 - 1.0 / 8);
  EXPECT_EQ(Hold(0.8, 2).cache_share, 1 - 3.0 / 8);
  EXPECT_EQ(Hold(0.8, 60).cache_share, 0.25);
}

TEST_F(MemoryBuybackTest, PurgesWithEachStep) {
  Hold(0.8, 30);
  EXPECT_EQ(purges_, 6);
}

TEST_F(MemoryBuybackTest, DoesNotWaitAtTheWholeTarget) {
  EXPECT_EQ(Hold(1.0, 0.05).cache_share, 1 - 1.0 / 8);
  EXPECT_EQ(flushes_, 1);
}

TEST_F(MemoryBuybackTest, FlushesAndPurgesEveryTenSecondsAtMost) {
  Hold(1.1, 9.95);
  EXPECT_EQ(flushes_, 1);
  Hold(1.1, 20);
  EXPECT_EQ(flushes_, 3);
}

TEST_F(MemoryBuybackTest, FlushesOnceAMinuteBelowTheTarget) {
  Hold(0.9, 59);
  EXPECT_EQ(flushes_, 1);
  Hold(0.9, 60);
  EXPECT_EQ(flushes_, 2);
}

TEST_F(MemoryBuybackTest, GivesBackOnlyWithRoomForAStep) {
  Hold(0.9, 30);
  EXPECT_EQ(Hold(0.65, 600).cache_share, 0.25) << "a step would bring it back above the mark";
  EXPECT_EQ(Hold(0.55, 15).cache_share, 0.25 + 1.0 / 8);
  EXPECT_EQ(Hold(0.55, 100).cache_share, 1);
}

// A full cache is 0.55 of the target and other memory 0.3, as the limiter finds it.
TEST_F(MemoryBuybackTest, FindsAShareThatStands) {
  double share = 1;
  int changes = 0;
  for (int i = 0; i < 6000; ++i, now_ += milliseconds(100)) {
    const double before = share;
    share = buyback_.Update(now_, 0.3 + 0.55 * share, kMark).cache_share;
    if (share != before) ++changes;
  }
  EXPECT_LE(0.3 + 0.55 * share, kMark);
  EXPECT_LE(changes, 3) << "no swing";
}

TEST_F(MemoryBuybackTest, AMarkThatLeavesNoRoomGivesBackToo) {
  MemoryBuyback buyback;
  for (int i = 0; i < 300; ++i, now_ += milliseconds(100)) (void)buyback.Update(now_, 0.2, 0.08);
  double share = 0;
  for (int i = 0; i < 1000; ++i, now_ += milliseconds(100)) share = buyback.Update(now_, 0.03, 0.08).cache_share;
  EXPECT_EQ(share, 1);
}

}  // namespace
}  // namespace weir
