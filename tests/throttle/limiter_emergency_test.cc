// The limiter while memory is short: it makes the engine free memory, and has its emergency.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/throttle/limiter_fixture.h"

namespace weir {
namespace {

using State = Admission::State;

constexpr uint64_t kScan = 1 << 20;

// Buffers that are full of the answers to reads.
Signal Own(double level) {
  return {
      .name = "buffers", .level = level, .acts_on_writes = false, .acts_on_reads = true, .acts_on_cheap_reads = true};
}

TEST_F(LimiterTest, ABulkBatchIsForetoldTheLimitOfAnEmergency) {
  AdaptiveLimiter& limiter = Build();
  Say(0.1, 2.0);
  TicksWithBulkWork(110);
  ASSERT_FALSE(limiter.View().emergency_holds);
  const Admission refused = Write(100'000'000, WorkClass::kBulk);
  ASSERT_TRUE(refused.refused());
  EXPECT_EQ(refused.reason(), "emergency") << "the size is not to blame";
  EXPECT_EQ(limiter.Stats(Operation::kWrite).refused.at("emergency"), 1U);
}

TEST_F(LimiterTest, EmergencyHasHysteresisAndNeedsNoTraffic) {
  AdaptiveLimiter& limiter = Build();
  const std::vector<std::pair<double, bool>> course = {{1.1, false}, {1.166, false}, {1.167, true},  {1.3, true},
                                                       {1.0, true},  {0.834, true},  {0.832, false}, {1.1, false}};
  for (const auto& [pressure, emergency] : course) {
    Say(0.1, pressure);
    Tick();
    EXPECT_EQ(limiter.View().emergency, emergency) << pressure;
  }
}

TEST_F(LimiterTest, AnEmergencyHoldsBulkAndRefusesScansAndNothingElse) {
  AdaptiveLimiter& limiter = Build();
  Say(0.1, 1.5);
  Tick();
  Admission bulk = Write(1000, WorkClass::kBulk);
  EXPECT_TRUE(bulk.waiting());
  EXPECT_EQ(bulk.reason(), "emergency");
  EXPECT_EQ(limiter.Reason(Operation::kWrite, WorkClass::kBulk), "emergency");
  EXPECT_TRUE(Write(1000).admitted());
  const Admission scan = Read(kScan);
  EXPECT_TRUE(scan.refused());
  EXPECT_EQ(scan.reason(), "emergency");
  EXPECT_TRUE(Read(1000).admitted());
  Say(0.1, 0.5);
  Tick();
  EXPECT_EQ(bulk.Poll(), State::kAdmitted);
  EXPECT_TRUE(Read(kScan).admitted());
}

// Even if no other signal limits: a dashboard without a limit would claim that bulk work is free.
TEST_F(LimiterTest, TheViewShowsTheFloorOfAnEmergencyThatLasts) {
  AdaptiveLimiter& limiter = Build();
  Say(0.1, 1.5);
  Tick();
  EXPECT_FALSE(limiter.View()[WorkClass::kBulk].open);
  EXPECT_EQ(limiter.View()[WorkClass::kBulk].bytes_per_second, 0);
  Ticks(105);
  EXPECT_FALSE(limiter.View()[WorkClass::kBulk].open);
  EXPECT_GT(limiter.View()[WorkClass::kBulk].bytes_per_second, 0);
  EXPECT_EQ(limiter.View()[WorkClass::kBulk].reason, "emergency");
  EXPECT_TRUE(limiter.View()[WorkClass::kInteractive].open);
}

// By then all memory that can be given back was given back; waiting longer frees nothing.
TEST_F(LimiterTest, AnEmergencyThatLastsLetsBulkGoOnAtItsFloor) {
  AdaptiveLimiter& limiter = Build();
  Say(Engine("memory", 1.5), 1.5);
  Ticks(95);
  Admission bulk = Write(1000, WorkClass::kBulk);
  ASSERT_TRUE(bulk.waiting());
  Ticks(10);
  EXPECT_EQ(bulk.Poll(), State::kAdmitted);
  EXPECT_TRUE(limiter.View().emergency);
  EXPECT_EQ(limiter.Reason(Operation::kWrite, WorkClass::kBulk), "emergency");
  EXPECT_LE(PassedOfBulk(), 1'000'000U) << "a twentieth of 10 MB/s";
  Say(0.1, 0.5);
  Tick();
  Say(0.1, 1.5);
  Tick();
  EXPECT_TRUE(Write(1000, WorkClass::kBulk).waiting()) << "another emergency";
}

TEST_F(LimiterTest, ShrinksTheCacheWhenMemoryHoldsBulkWorkBack) {
  Build();
  Say(0.1, 0.80);
  Ticks(100);
  EXPECT_EQ(monitor_.cache_share(), 1) << "nobody brings bulk work";
  TicksWithBulkWork(100);
  EXPECT_EQ(monitor_.cache_share(), 0.25);
  Say(0.1, 0.5);
  Ticks(1000);
  EXPECT_EQ(monitor_.cache_share(), 1);
}

// The setpoint is for the engine; if it took the cache, clients would lose it only because the setpoint is low.
TEST_F(LimiterTest, ALowSetpointDoesNotTakeTheCache) {
  LimiterSettings settings;
  settings.bulk.setpoint = 0.05;
  Build(settings);
  Say(0.1, 0.69);
  TicksWithBulkWork(100);
  EXPECT_EQ(monitor_.cache_share(), 1);
}

// A large batch that waits for its turn counts as incoming work, although nothing was admitted for a while.
TEST_F(LimiterTest, TheCacheIsAskedForWorkThatWaits) {
  Build();
  Say(OfUnknownDrain("memory", 0.73), 0.73);
  Ticks(20);
  const Admission batch = Write(1 << 20, WorkClass::kBulk);
  const Admission next = Write(1 << 20, WorkClass::kBulk);
  Ticks(300);
  EXPECT_EQ(monitor_.cache_share(), 0.25);
}

// By then all memory that can be given back was given back, as for bulk work: memory that stays at 0.9 does not refuse
// scans by itself.
TEST_F(LimiterTest, AnEmergencyThatLastsLetsScansGoOnOneAtATime) {
  AdaptiveLimiter& limiter = Build();
  Say(0.1, 1.2);
  Tick();
  Say(0.1, 0.9);
  Ticks(95);
  ASSERT_TRUE(limiter.View().emergency_holds);
  EXPECT_TRUE(Read(kScan).refused());
  Ticks(10);
  ASSERT_TRUE(limiter.View().emergency);
  EXPECT_FALSE(limiter.View().emergency_holds);
  EXPECT_EQ(limiter.View().scans_at_once, 1);
  for (const WorkClass c : {WorkClass::kInteractive, WorkClass::kBulk}) {
    const Admission scan = Read(kScan, c);
    EXPECT_TRUE(scan.admitted());
    EXPECT_TRUE(Read(kScan, c).waiting());
    EXPECT_EQ(limiter.Reason(Operation::kRead, c), "emergency");
  }
  EXPECT_TRUE(Read(1000).admitted());
}

// The law alone would let everything through: its weighted level is below the setpoint, or it has no signal at all.
TEST_F(LimiterTest, AnEmergencyThatNoLawSeesLeavesBulkItsFloor) {
  for (const bool weighted : {true, false}) {
    LimiterSettings settings;
    settings.process_variable = ProcessVariable::kWeighted;
    Build(settings);
    const auto say = [&](double memory) {
      monitor_.Say([=](LoadSample* sample) {
        if (weighted) sample->Add(Engine("l0", 0.1));
        sample->memory_pressure = memory;
        return Status();
      });
    };
    say(1.2);
    Ticks(10);
    say(0.9);
    Ticks(200);
    ASSERT_TRUE(limiter_->View().emergency);
    EXPECT_LE(PassedOfBulk(), 1'000'000U) << weighted;
  }
}

TEST_F(LimiterTest, AnEmergencyAlwaysAdmitsCheapReads) {
  for (double own : {0.0, 0.5, 3.0}) {
    Build();
    Say(Own(own), 1.5);
    Ticks(5);
    std::vector<Admission> reads;
    for (int n = 0; n < 100; ++n) reads.push_back(Read(1000));
    for (const Admission& read : reads) EXPECT_TRUE(read.admitted()) << "own " << own;
    EXPECT_TRUE(Read(kScan).refused());
  }
}

TEST_F(LimiterTest, RelievesMemoryAtMostEveryTenSeconds) {
  Build();
  Say(0.1, 1.05);  // above the target, but no emergency yet
  Ticks(95);
  EXPECT_EQ(monitor_.flushes(), 1);
  Ticks(100);
  EXPECT_EQ(monitor_.flushes(), 2);
  Say(0.1, 0.8);
  Ticks(300);
  EXPECT_EQ(monitor_.flushes(), 2);
}

}  // namespace
}  // namespace weir
