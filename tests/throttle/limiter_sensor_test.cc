// The limiter after it has lost its sensor.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <stdexcept>
#include <vector>

#include "tests/throttle/limiter_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using State = Admission::State;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr uint64_t kScan = 1 << 20;

TEST_F(LimiterTest, HoldsTheLastLimitWhenTheSensorIsLostAndSaysSo) {
  const std::vector<std::function<Status(LoadSample*)>> faults = {
      [](LoadSample*) { return Status::Error("the database is closed"); },
      [](LoadSample*) -> Status { throw std::runtime_error("boom"); },
      [](LoadSample*) -> Status { throw 42; },
  };
  for (size_t i = 0; i < faults.size(); ++i) {
    AdaptiveLimiter& limiter = Build();
    Say(0.85);
    Tick();
    monitor_.Say(faults[i]);
    Ticks(19);
    EXPECT_FALSE(limiter.View().sensor_lost) << "fault " << i << ": not yet";
    Ticks(3);
    EXPECT_TRUE(limiter.View().sensor_lost) << "fault " << i;
    EXPECT_EQ(limiter.Reason(Operation::kWrite), "sensor lost");
    EXPECT_NEAR(limiter.View()[WorkClass::kInteractive].bytes_per_second, 9e6, 1);
    EXPECT_FALSE(BulkPasses());
    Say(0.85);
    Tick();
    EXPECT_FALSE(limiter.View().sensor_lost) << "fault " << i << ": it is back";
  }
}

TEST_F(LimiterTest, AfterStopTheViewSaysStoppedThoughTheSensorIsLost) {
  AdaptiveLimiter& limiter = Build();
  Say(0.85);
  Tick();
  LoseSensor();
  Ticks(25);
  ASSERT_TRUE(limiter.View().sensor_lost);
  limiter.Stop();
  EXPECT_EQ(limiter.View()[WorkClass::kInteractive].reason, "stopped");
  EXPECT_EQ(limiter.View()[WorkClass::kBulk].reason, "stopped");
  EXPECT_EQ(limiter.View().read_reason, "stopped");
}

TEST_F(LimiterTest, ALostSensorHoldsTheDrainNotTheCorrectionOfAMoment) {
  AdaptiveLimiter& limiter = Build();
  Say(0.95);
  Tick();
  ASSERT_LT(limiter.View()[WorkClass::kInteractive].bytes_per_second, 1e6);
  LoseSensor();
  Ticks(25);
  ASSERT_TRUE(limiter.View().sensor_lost);
  EXPECT_NEAR(limiter.View()[WorkClass::kInteractive].bytes_per_second, 9e6, 1e6);
}

// An engine behind a network does not report its drain, and while it is at rest the drain cannot be observed.
TEST_F(LimiterTest, ALostSensorOfUnknownDrainHoldsTheRecentRate) {
  AdaptiveLimiter& limiter = Build();
  Say(OfUnknownDrain("wal", 0.1));
  const auto write = [&](uint64_t bytes) {
    uint64_t admitted = 0;
    for (int tick = 0; tick < 100; ++tick) {
      admitted += limiter.Admit(Operation::kWrite, {bytes}).admitted() ? 1 : 0;
      Tick();
    }
    return admitted;
  };
  EXPECT_EQ(write(500'000), 100U);
  LoseSensor();
  EXPECT_EQ(write(300'000), 100U) << "less than before, with or without the sensor";
  EXPECT_TRUE(limiter.View().sensor_lost);
}

// The gate closes to its limit by itself if too much passes between two ticks.
TEST_F(LimiterTest, AnOpenGateStaysOpenWhenTheSensorIsLost) {
  AdaptiveLimiter& limiter = Build();
  Say(0.1);
  Ticks(2);
  ASSERT_EQ(limiter.Reason(Operation::kWrite), "");
  for (int n = 0; n < 100; ++n) {
    TickUnsampled();
    EXPECT_TRUE(Write(50'000).admitted());
    EXPECT_EQ(limiter.Reason(Operation::kWrite), "") << n;
  }
  EXPECT_TRUE(limiter.View().sensor_lost);
}

// An engine that does not answer or has no such figures, beside a process that knows its own memory.
class LimiterOfAProcessTest : public LimiterTest {
 protected:
  void Feel(double memory_pressure, double own = 0) {
    monitor_.SayOfProcess([=](LoadSample* sample) {
      sample->Add({.name = "own", .level = own, .acts_on_reads = true, .acts_on_cheap_reads = true});
      sample->Add({.name = "memory", .level = memory_pressure, .bytes_per_level = 1e9, .dead_time = kTick});
      sample->memory_pressure = memory_pressure;
      return Status();
    });
  }
};

TEST_F(LimiterOfAProcessTest, HoldsInAnEmergencyAlthoughTheEngineWasNeverRead) {
  AdaptiveLimiter& limiter = Build();
  LoseSensor();
  Feel(0.3);
  Ticks(5);
  EXPECT_TRUE(limiter.View().sensor_lost);
  EXPECT_EQ(limiter.View()[WorkClass::kBulk].reason, "sensor lost");
  EXPECT_TRUE(Write(1000, WorkClass::kBulk).admitted());
  EXPECT_EQ(limiter.View().sample.memory_pressure, 0.3);
  Feel(1.5);
  Tick();
  EXPECT_TRUE(limiter.View().emergency);
  EXPECT_EQ(limiter.Reason(Operation::kWrite, WorkClass::kBulk), "emergency");
  Admission bulk = Write(1000, WorkClass::kBulk);
  EXPECT_TRUE(bulk.waiting());
  EXPECT_TRUE(Read(kScan).refused());
  Feel(0.3);
  Ticks(50);
  EXPECT_FALSE(limiter.View().emergency);
  EXPECT_EQ(bulk.Poll(), State::kAdmitted);
  EXPECT_TRUE(Read(kScan).admitted());
}

TEST_F(LimiterOfAProcessTest, TheLowerOfTheHeldAndTheFeltLimitApplies) {
  AdaptiveLimiter& limiter = Build();
  Say(0.85);
  Feel(0.3);
  Ticks(2);
  LoseSensor();
  Ticks(25);
  ASSERT_TRUE(limiter.View().sensor_lost);
  EXPECT_NEAR(limiter.View()[WorkClass::kInteractive].bytes_per_second, 9e6, 1);
  EXPECT_EQ(limiter.Reason(Operation::kWrite), "sensor lost");
  Feel(1.1);
  Ticks(2);
  EXPECT_LT(limiter.View()[WorkClass::kInteractive].bytes_per_second, 1e6);
  EXPECT_EQ(limiter.Reason(Operation::kWrite), "memory");
  EXPECT_FALSE(limiter.View().emergency);
  Feel(0.3, /*own=*/2);
  Ticks(20);
  EXPECT_EQ(limiter.Reason(Operation::kRead), "own");
  Say(0.85);
  Feel(0.3);
  Ticks(2);
  EXPECT_FALSE(limiter.View().sensor_lost);
  EXPECT_EQ(limiter.Reason(Operation::kWrite), "l0");
}

TEST_F(LimiterOfAProcessTest, OpensBySettingAllTheSame) {
  LimiterSettings settings;
  settings.on_sensor_loss = SensorLoss::kOpen;
  AdaptiveLimiter& limiter = Build(settings);
  LoseSensor();
  Feel(1.5);
  Ticks(2);
  EXPECT_FALSE(limiter.View().emergency);
  EXPECT_TRUE(BulkPasses());
}

TEST_F(LimiterTest, ALevelThatIsNoNumberMovesNoLimitAndIsALostSensor) {
  AdaptiveLimiter& limiter = Build();
  Say(0.85);
  Tick();
  Say(kNan, kNan);
  Ticks(50);
  EXPECT_NEAR(limiter.View()[WorkClass::kInteractive].bytes_per_second, 9e6, 1);
  EXPECT_FALSE(limiter.View().emergency);
  EXPECT_TRUE(limiter.View().sensor_lost);
}

TEST_F(LimiterTest, OpensTheGatesWhenTheSensorIsLostBySetting) {
  LimiterSettings settings;
  settings.on_sensor_loss = SensorLoss::kOpen;
  AdaptiveLimiter& limiter = Build(settings);
  Say(0.75);
  Ticks(2);
  ASSERT_FALSE(BulkPasses());
  Admission waiting = Write(1'000'000, WorkClass::kBulk);
  ASSERT_TRUE(waiting.waiting());
  for (int n = 0; n < 25; ++n) TickUnsampled();  // the probe hangs: no new sample, no error
  EXPECT_TRUE(limiter.View().sensor_lost);
  EXPECT_EQ(waiting.Poll(), State::kAdmitted);
  EXPECT_TRUE(Write(1'000'000'000, WorkClass::kBulk).admitted());
  EXPECT_EQ(limiter.View()[WorkClass::kBulk].reason, "sensor lost");
}

TEST_F(LimiterTest, BytesPassedWithoutTheSensorAreNoDemandOfTheNextTick) {
  LimiterSettings settings;
  settings.on_sensor_loss = SensorLoss::kOpen;
  AdaptiveLimiter& limiter = Build(settings);
  Say(OfUnknownDrain("l0", 0.9));  // the drain is found by balance
  Tick();
  for (int n = 0; n < 100; ++n) {
    (void)Write(1'000'000);  // 10 MB/s for ten seconds
    TickUnsampled();
  }
  ASSERT_TRUE(limiter.View().sensor_lost);
  Say(OfUnknownDrain("l0", 0.9));
  Tick();
  EXPECT_LE(limiter.View()[WorkClass::kInteractive].drain_bytes_per_second, 10e6);
}

// For a monitor that samples every second, a sample of 2.9 s is not lost.
TEST_F(LimiterTest, AMonitorThatSamplesSeldomIsNotLostBetweenTwoSamples) {
  ScriptedMonitor seldom(clock_, {.sample_interval = seconds(1)});
  AdaptiveLimiter limiter(seldom);
  seldom.Say([](LoadSample* sample) {
    sample->Add(Engine("l0", 0.85));
    return Status();
  });
  ASSERT_TRUE(seldom.SampleOnce().ok());
  clock_.Advance(milliseconds(2900));
  limiter.Tick();
  EXPECT_FALSE(limiter.View().sensor_lost);
  clock_.Advance(milliseconds(200));
  limiter.Tick();
  EXPECT_TRUE(limiter.View().sensor_lost);
}

TEST_F(LimiterTest, ASampleTakenWhenTheClockBeginsIsASample) {
  clock_.Set(TimePoint{});
  AdaptiveLimiter& limiter = Build();
  Say(0.85);
  Tick();
  EXPECT_FALSE(limiter.View().sensor_lost);
  EXPECT_EQ(limiter.Reason(Operation::kWrite), "l0");
}

// The limiter could not see the memory fall again, and would hold bulk work and scans for as long as the sensor is
// gone.
TEST_F(LimiterTest, ALostSensorEndsAnEmergencyAtNineTenthsOfTheDrain) {
  AdaptiveLimiter& limiter = Build();
  Say(0.85, 1.5);
  Tick();
  ASSERT_TRUE(limiter.View().emergency);
  Admission bulk = Write(1000, WorkClass::kBulk);
  ASSERT_TRUE(bulk.waiting());
  ASSERT_TRUE(Read(kScan).refused());
  LoseSensor();
  Ticks(25);
  const LimiterView view = limiter.View();
  ASSERT_TRUE(view.sensor_lost);
  EXPECT_FALSE(view.emergency);
  EXPECT_EQ(view[WorkClass::kBulk].reason, "sensor lost");
  EXPECT_NEAR(view[WorkClass::kInteractive].bytes_per_second, 9e6, 1);
  EXPECT_GT(view[WorkClass::kBulk].bytes_per_second, 0);
  EXPECT_LE(view[WorkClass::kBulk].bytes_per_second, 9e6 + 1);
  EXPECT_EQ(bulk.Poll(), State::kAdmitted);
  EXPECT_FALSE(BulkPasses()) << "paced, not open";
  EXPECT_TRUE(Read(kScan).admitted());
  Say(0.85, 1.5);
  Tick();
  EXPECT_TRUE(limiter.View().emergency) << "the sensor is back and sees it";
}

TEST_F(LimiterTest, ALostSensorOpensAfterAnEmergencyWithoutADrain) {
  AdaptiveLimiter& limiter = Build();
  monitor_.Say([](LoadSample* sample) {
    sample->memory_pressure = 1.5;
    return Status();
  });
  Tick();
  Admission bulk = Write(1000, WorkClass::kBulk);
  ASSERT_TRUE(bulk.waiting());
  for (int n = 0; n < 25; ++n) TickUnsampled();
  EXPECT_EQ(bulk.Poll(), State::kAdmitted);
  EXPECT_TRUE(limiter.View()[WorkClass::kBulk].open);
}

}  // namespace
}  // namespace weir
