// The limiter's decisions on its tick.
#include "throttle/adaptive_limiter.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/throttle/limiter_fixture.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using State = Admission::State;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr uint64_t kScan = 1 << 20;
constexpr double kBraking = 6;  // times as strong above the setpoint as below it

// Buffers that are full of the answers to reads.
Signal Own(double level) {
  return {
      .name = "buffers", .level = level, .acts_on_writes = false, .acts_on_reads = true, .acts_on_cheap_reads = true};
}

TEST_F(LimiterTest, IsOpenBeforeTheFirstSampleAndSaysSo) {
  AdaptiveLimiter& limiter = Build();
  EXPECT_TRUE(Write(100'000'000).admitted());
  limiter.Tick();
  EXPECT_TRUE(limiter.View().sensor_lost);
  EXPECT_TRUE(Write(100'000'000).admitted());
  EXPECT_EQ(limiter.Reason(Operation::kWrite), "");
}

TEST_F(LimiterTest, PacesBothClassesAtTheDrainOfTheEngine) {
  AdaptiveLimiter& limiter = Build();
  Say(0.85);
  Tick();
  const LimiterView view = limiter.View();
  EXPECT_FALSE(view[WorkClass::kInteractive].open);
  EXPECT_NEAR(view[WorkClass::kInteractive].bytes_per_second, 10e6, 1);
  EXPECT_LT(view[WorkClass::kBulk].bytes_per_second, 8e6) << "its setpoint is lower";
  EXPECT_EQ(limiter.Reason(Operation::kWrite), "l0");
  EXPECT_FALSE(BulkPasses());
}

TEST_F(LimiterTest, InteractiveWorkHasRoomWhenOnlyBulkIsLimited) {
  LimiterSettings settings;
  settings.bulk.setpoint = 0.3;
  AdaptiveLimiter& limiter = Build(settings);
  Say(0.35);
  Tick();
  ASSERT_TRUE(limiter.View()[WorkClass::kInteractive].open);
  ASSERT_FALSE(limiter.View()[WorkClass::kBulk].open);
  EXPECT_GE(limiter.View()[WorkClass::kInteractive].bytes_per_second, 15e6);
  EXPECT_EQ(limiter.Reason(Operation::kWrite, WorkClass::kBulk), "l0");
}

TEST_F(LimiterTest, ABurstBetweenTwoTicksMeetsTheLimitOfTheTickBefore) {
  AdaptiveLimiter& limiter = Build();
  Say(0.1);
  Ticks(20);
  ASSERT_EQ(limiter.Reason(Operation::kWrite), "");
  uint64_t passed = 0;
  while (passed < 20'000'000 && Write(10'000, WorkClass::kBulk).admitted()) passed += 10'000;
  EXPECT_LE(passed, 1'000'000U) << "not the 20 MB that a fast loop brings before the next tick";
  EXPECT_EQ(limiter.Reason(Operation::kWrite, WorkClass::kBulk), "l0");
  Ticks(100);
  EXPECT_EQ(limiter.Reason(Operation::kWrite, WorkClass::kBulk), "") << "the burst is over";
}

TEST_F(LimiterTest, EveryWaitAndRefusalHasAReason) {
  Build();
  Say(1.5);
  Ticks(50);
  std::vector<Admission> asked;
  for (int n = 0; n < 200; ++n) asked.push_back(Write(50'000, n % 2 == 0 ? WorkClass::kBulk : WorkClass::kInteractive));
  Ticks(20);
  for (Admission& admission : asked) {
    if (admission.Poll() == State::kAdmitted) continue;
    EXPECT_EQ(admission.reason(), "l0");
  }
  for (const auto& [reason, count] : limiter_->Stats(Operation::kWrite).refused) EXPECT_FALSE(reason.empty());
}

// A wait is foretold by the drain of 10 MB/s: the limit at this moment is a twentieth of it.
TEST_F(LimiterTest, ABulkBatchAtTheLowestLimitWaitsIfTheDrainSuffices) {
  AdaptiveLimiter& limiter = Build();
  Say(1.5);
  TicksWithBulkWork(50);
  ASSERT_LE(limiter.View()[WorkClass::kBulk].bytes_per_second, 0.51e6);
  EXPECT_TRUE(Write(100'000'000, WorkClass::kBulk).waiting());
  EXPECT_TRUE(Write(700'000'000, WorkClass::kBulk).refused());
}

TEST_F(LimiterTest, ABulkBatchWaitsWhileTheDrainIsUnknown) {
  AdaptiveLimiter& limiter = Build();
  Say(OfUnknownDrain("l0", 1.5));
  Tick();
  ASSERT_EQ(limiter.View()[WorkClass::kBulk].drain_bytes_per_second, 0);
  EXPECT_TRUE(Write(100'000'000, WorkClass::kBulk).waiting());
}

TEST_F(LimiterTest, ABatchOfCheapReadsIsNoScan) {
  AdaptiveLimiter& limiter = Build();
  Say(0.1, 2.0);
  Tick();
  ASSERT_TRUE(limiter.View().emergency);
  ASSERT_TRUE(Read(kScan).refused());
  for (int n = 0; n < 50; ++n) {
    EXPECT_EQ(limiter.MaybeThrottle(Operation::kRead, {16 << 10}), Duration::zero());
  }
  EXPECT_EQ(limiter.Stats(Operation::kRead).refused.at("emergency"), 1U) << "the scan alone";
}

TEST_F(LimiterTest, ALongPauseBetweenTicksIsNotTakenForASecond) {
  AdaptiveLimiter& limiter = Build();
  Say(OfUnknownDrain("l0", 0.9));
  Tick();
  limiter.Stop();  // opens the gates
  (void)Write(100'000'000);
  clock_.Advance(seconds(100));
  Tick();
  EXPECT_LE(limiter.View()[WorkClass::kInteractive].drain_bytes_per_second, 1.1e6) << "a megabyte a second";
}

// Also from within the tick, which holds the lock that View takes.
TEST_F(LimiterTest, ACallbackMayAskTheLimiter) {
  AdaptiveLimiter& limiter = Build();
  Say(0.1, 1.5);
  Tick();
  Admission bulk = Write(1000, WorkClass::kBulk);
  ASSERT_TRUE(bulk.waiting());
  bool emergency = true;
  bulk.OnSettled([&] {
    emergency = limiter.View().emergency;
    EXPECT_TRUE(Write(1000).admitted());
  });
  Say(0.1, 0.5);
  (void)monitor_.SampleOnce();
  limiter.Tick();
  EXPECT_FALSE(emergency);
}

TEST_F(LimiterTest, ScansAreLimitedOnlyBySignalsThatReadsActOn) {
  AdaptiveLimiter& limiter = Build();
  Say(1.5);
  Ticks(10);
  EXPECT_EQ(limiter.View().scans_at_once, 0);
  EXPECT_EQ(limiter.Reason(Operation::kRead), "");
  for (int n = 0; n < 50; ++n) EXPECT_TRUE(Read(kScan).admitted());
}

TEST_F(LimiterTest, BulkScansAreFewerThanCoresWithoutAnyPressure) {
  AdaptiveLimiter& limiter = Build({.bulk_scans = 2});
  Say(0.1);
  Tick();
  const auto scan = [&] { return limiter.Admit(Operation::kRead, {kScan}, {.work_class = WorkClass::kBulk}); };
  const Admission one = scan();
  const Admission two = scan();
  const Admission three = scan();
  EXPECT_TRUE(one.admitted() && two.admitted());
  ASSERT_TRUE(three.waiting());
  EXPECT_EQ(three.reason(), "cores");
  EXPECT_EQ(limiter.Reason(Operation::kRead), "") << "interactive scans pass";
  EXPECT_EQ(limiter.Reason(Operation::kRead, WorkClass::kBulk), "cores");
}

TEST_F(LimiterTest, FewerScansRunAtOnceAsPressureGrows) {
  AdaptiveLimiter& limiter = Build();
  int64_t last = 9;
  for (double level : {0.9, 1.0, 1.2, 1.6}) {
    Say(ForReads("memory", level));
    Ticks(5);
    const int64_t now = limiter.View().scans_at_once;
    EXPECT_GE(now, 1);
    EXPECT_LE(now, last);
    last = now;
  }
  EXPECT_EQ(last, 1);
  EXPECT_EQ(limiter.Reason(Operation::kRead), "memory");
  const Admission one = Read(kScan);
  const Admission two = Read(kScan);
  EXPECT_TRUE(one.admitted());
  EXPECT_TRUE(two.waiting());
  EXPECT_EQ(two.reason(), "memory");
  EXPECT_TRUE(Read(1000).admitted());
}

TEST_F(LimiterTest, OwnMemoryLimitsAllReadsAndOnlyWhileItIsHigh) {
  Build();
  Say(Own(3.0));
  Ticks(5);
  const Admission one = Read(10);
  Admission two = Read(10);
  EXPECT_TRUE(one.admitted());
  EXPECT_TRUE(two.waiting());
  Say(Own(0.2));
  Ticks(100);
  EXPECT_TRUE(Read(10).admitted());
  EXPECT_NE(two.Poll(), State::kWaiting);
}

TEST_F(LimiterTest, GainsCanBeChangedWhileItRuns) {
  AdaptiveLimiter& limiter = Build();
  Say(0.86);
  Tick();
  const double before = limiter.View()[WorkClass::kInteractive].bytes_per_second;
  limiter.SetWriteGains({.kp = 2, .ki = 0, .kd = 0});
  Tick();
  EXPECT_NEAR(limiter.View()[WorkClass::kInteractive].bytes_per_second, before, 0.05e6) << "without a bump";
  Say(0.87);
  Tick();
  const double higher = limiter.View()[WorkClass::kInteractive].bytes_per_second;
  EXPECT_NEAR(before - higher, 4 * kBraking * 20e6 * 0.01, 0.1e6);
  limiter.SetWriteGains({.kp = kNan});
  limiter.SetWriteGains({.kp = -1}, WorkClass::kBulk);
  limiter.SetReadGains({.kp = kNan});
  Tick();
  EXPECT_GT(limiter.View()[WorkClass::kInteractive].bytes_per_second, 0);
  limiter.ResetControllers();
  EXPECT_EQ(limiter.ControllerState(Operation::kWrite).i, 0);
  EXPECT_EQ(limiter.ControllerState(Operation::kRead).i, 0);
}

TEST_F(LimiterTest, SetpointsCanBeChangedWhileItRuns) {
  AdaptiveLimiter& limiter = Build();
  Say(0.86);
  Ticks(5);
  const double before = limiter.View()[WorkClass::kInteractive].bytes_per_second;
  limiter.SetSetpoint(Operation::kWrite, 0.5);
  limiter.SetSetpoint(Operation::kWrite, 0.4, WorkClass::kBulk);
  limiter.SetSetpoint(Operation::kRead, 0.6);
  Tick();
  const LimiterView::Write after = limiter.View()[WorkClass::kInteractive];
  EXPECT_EQ(after.setpoint, 0.5);
  EXPECT_LT(after.bytes_per_second, before);
  EXPECT_NEAR(after.bytes_per_second, before, 0.051 * kBraking * 20e6 * 0.36) << "without a bump";
  EXPECT_EQ(limiter.TuningOf(Operation::kWrite).setpoint, 0.5);
  EXPECT_EQ(limiter.TuningOf(Operation::kWrite, WorkClass::kBulk).setpoint, 0.4);
  EXPECT_EQ(limiter.TuningOf(Operation::kRead), (Tuning{LimiterSettings().read.gains, 0.6}));
  for (const double odd : {kNan, 0.0, -1.0, 1.01}) {
    limiter.SetSetpoint(Operation::kWrite, odd);
    limiter.SetSetpoint(Operation::kRead, odd);
  }
  EXPECT_EQ(limiter.TuningOf(Operation::kWrite).setpoint, 0.5);
  EXPECT_EQ(limiter.TuningOf(Operation::kRead).setpoint, 0.6);
}

TEST_F(LimiterTest, ADisabledLimiterIsAlwaysOpen) {
  AdaptiveLimiter& limiter = Build({.enabled = false});
  Say(5.0, 5.0);
  limiter.Start();
  Ticks(10);
  EXPECT_TRUE(Write(1'000'000'000, WorkClass::kBulk).admitted());
  EXPECT_EQ(limiter.MaybeThrottle(Operation::kWrite), Duration::zero());
  EXPECT_EQ(monitor_.flushes(), 0);
  limiter.Stop();
}

TEST_F(LimiterTest, RefusesSettingsThatContradictThemselves) {
  LimiterSettings settings;
  settings.recovery = 2;
  try {
    Build(settings);
    FAIL() << "it took them";
  } catch (const std::invalid_argument& e) {
    EXPECT_EQ(std::string(e.what()), Check(settings).message());
  }
}

TEST_F(LimiterTest, AClockThatLeapsOrStepsBackKeepsItRunning) {
  AdaptiveLimiter& limiter = Build();
  Say(0.9);
  Ticks(10);
  for (Duration leap : {Duration(hours(10)), Duration(-hours(9))}) {
    clock_.Advance(leap);
    Ticks(10);
    const double limit = limiter.View()[WorkClass::kInteractive].bytes_per_second;
    EXPECT_FALSE(limiter.View().sensor_lost);
    EXPECT_GT(limit, 0.5e6) << "above the floor";
    EXPECT_LT(limit, 10e6);
    Admission admission = Write(1000);
    Ticks(2);
    EXPECT_EQ(admission.Poll(), State::kAdmitted);
  }
}

TEST_F(LimiterTest, RecordsLatenciesWithTheMonitor) {
  AdaptiveLimiter& limiter = Build();
  limiter.RecordLatency(Operation::kRead, milliseconds(2));
  limiter.RecordLatency(Operation::kWrite, milliseconds(4));
  EXPECT_EQ(monitor_.ReadLatency(), milliseconds(2));
  EXPECT_EQ(monitor_.WriteLatency(), milliseconds(4));
}

}  // namespace
}  // namespace weir
