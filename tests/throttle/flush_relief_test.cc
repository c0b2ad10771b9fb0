#include "throttle/flush_relief.h"

#include <gtest/gtest.h>

#include "tests/throttle/limiter_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

constexpr double kMark = 0.7;

class FlushReliefTest : public testing::Test {
 protected:
  // Updates ten times a second, as the limiter does; returns how many flushes it asked for.
  int Hold(double level, double for_seconds) {
    int flushes = 0;
    for (const TimePoint end = now_ + FromSeconds(for_seconds); now_ < end; now_ += milliseconds(100))
      flushes += relief_.Update(now_, level, kMark) ? 1 : 0;
    return flushes;
  }

  TimePoint now_{std::chrono::hours(1)};
  FlushRelief relief_;
};

TEST_F(FlushReliefTest, AsksAtOnceAndEachSecondWhileWritersStand) {
  EXPECT_EQ(Hold(1, 0.05), 1);
  EXPECT_EQ(Hold(1, 0.85), 0);
  EXPECT_EQ(Hold(1.5, 3), 3);
}

TEST_F(FlushReliefTest, StopsThatFollowEachOtherAreOneASecond) {
  int flushes = 0;
  for (int i = 0; i < 50; ++i) flushes += Hold(1, 0.1) + Hold(0, 0.1);
  EXPECT_EQ(flushes, 10);
}

TEST_F(FlushReliefTest, AsksEveryFiveSecondsWhileTheLevelStaysAboveTheMark) {
  EXPECT_EQ(Hold(0.8, 1.95), 0);
  EXPECT_EQ(Hold(0.8, 0.15), 1);
  EXPECT_EQ(Hold(0.8, 4.8), 0);
  EXPECT_EQ(Hold(0.8, 10), 2);
}

TEST_F(FlushReliefTest, BriefRisesAndTheMarkItselfAskForNothing) {
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Hold(0.9, 1.5) + Hold(0.7, 0.1), 0);
  EXPECT_EQ(Hold(kMark, 60), 0);
}

class RelievingLimiterTest : public LimiterTest {
 protected:
  static Signal Buffers(double level) {
    Signal signal = Engine("buffers", level);
    signal.relieved_by_flush = true;
    return signal;
  }
};

TEST_F(RelievingLimiterTest, AStopIsNamedAndRelievedInTheNextTick) {
  Build();
  Say(Buffers(1));
  Tick();
  EXPECT_EQ(limiter_->View().writes[WorkClass::kBulk].reason, "buffers");
  EXPECT_EQ(limiter_->View().writes[WorkClass::kInteractive].reason, "buffers");
  ASSERT_TRUE(monitor_.SampleOnce().ok());
  EXPECT_EQ(monitor_.flushes_of_largest(), 1);
  EXPECT_EQ(monitor_.flushes(), 0) << "the other buffers stay";
}

TEST_F(RelievingLimiterTest, OtherSignalsAskForNoFlush) {
  Build();
  Say(Engine("l0", 2));
  Ticks(50);
  EXPECT_EQ(monitor_.flushes_of_largest(), 0);
}

}  // namespace
}  // namespace weir
