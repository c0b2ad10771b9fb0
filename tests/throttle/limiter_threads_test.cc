// The limiter's own thread: its life, callers that wait while it ends, and MaybeThrottle for plain threads.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "tests/fixtures/eventually.h"
#include "tests/throttle/limiter_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using State = Admission::State;

TEST_F(LimiterTest, StopRefusesWaitersAndLeavesTheGatesOpen) {
  AdaptiveLimiter& limiter = Build();
  Say(0.9);
  Tick();
  ASSERT_FALSE(BulkPasses());
  Admission waiting = Write(100'000, WorkClass::kBulk);
  ASSERT_TRUE(waiting.waiting());
  limiter.Stop();
  ASSERT_EQ(waiting.Poll(), State::kRefused);
  EXPECT_EQ(waiting.reason(), "stopped");
  EXPECT_TRUE(BulkPasses());
  Tick();
  EXPECT_FALSE(BulkPasses()) << "a tick takes it up again";
}

// A limiter on the machine's own clock, with an engine that drains 10 MB/s and stands at its setpoint.
class RunningLimiterTest : public testing::Test {
 protected:
  void SetUp() override {
    monitor_.Say([](LoadSample* sample) {
      sample->Add({.name = "l0",
                   .level = 0.85,
                   .bytes_per_level = 40e6,
                   .dead_time = seconds(1),
                   .drain_bytes_per_second = 10e6});
      return Status();
    });
    ASSERT_TRUE(monitor_.SampleOnce().ok());
  }

  // Starts the limiter and returns once its gates are closed.
  void Start(AdaptiveLimiter& limiter) {
    monitor_.Start();
    limiter.Start();
    ASSERT_TRUE(Eventually([&] { return limiter.Reason(Operation::kWrite) == "l0"; }));
  }

  ScriptedMonitor monitor_;
};

TEST_F(RunningLimiterTest, MayBeStoppedBeforeItIsStartedAndTwice) {
  AdaptiveLimiter limiter(monitor_);
  limiter.Stop();
  Start(limiter);
  Start(limiter);
  limiter.Stop();
  EXPECT_EQ(limiter.Reason(Operation::kWrite), "") << "open";
  limiter.Stop();
  Start(limiter);
  limiter.Stop();
  EXPECT_EQ(limiter.Reason(Operation::kWrite), "");
}

// Start and Stop may be called from any threads at once: no Stop hangs on a thread that a Start kept running, and none
// leaves a thread behind that closes the gate again.
TEST_F(RunningLimiterTest, StartAndStopFromManyThreads) {
  AdaptiveLimiter limiter(monitor_);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int n = 0; n < 200; ++n) {
        limiter.Start();
        limiter.Stop();
      }
    });
  }
  threads.clear();
  limiter.Stop();
  EXPECT_EQ(limiter.Reason(Operation::kWrite), "");
  Start(limiter);
  limiter.Stop();
  EXPECT_EQ(limiter.Reason(Operation::kWrite), "");
}

TEST_F(RunningLimiterTest, HandsOutTurnsByItself) {
  AdaptiveLimiter limiter(monitor_);
  Start(limiter);
  for (int n = 0; n < 50; ++n) {
    Admission admission = limiter.Admit(Operation::kWrite, {10'000});
    EXPECT_EQ(admission.Wait(), State::kAdmitted);
  }
}

TEST_F(RunningLimiterTest, StopsWhileManyWait) {
  AdaptiveLimiter limiter(monitor_);
  Start(limiter);
  constexpr int kWaiters = 8;
  std::atomic<int> refused = 0;
  std::latch all_asked(kWaiters);
  std::vector<std::jthread> threads;
  for (int n = 0; n < kWaiters; ++n) {
    threads.emplace_back([&, n] {
      // Each takes five seconds, in the bulk class, which waits up to a minute.
      Admission admission = limiter.Admit(Operation::kWrite, {50'000'000}, {.id = 1, .work_class = WorkClass::kBulk});
      all_asked.count_down();
      if (n % 2 == 0) {
        refused += admission.Wait() == State::kRefused ? 1 : 0;
      } else {
        refused += limiter.MaybeThrottle(Operation::kRead) == Duration::zero() ? 1 : 0;
      }
    });
  }
  all_asked.wait();
  limiter.Stop();
  threads.clear();
  EXPECT_GE(refused, kWaiters - 2);
}

TEST_F(RunningLimiterTest, StopEndsTheSleepOfMaybeThrottle) {
  LimiterSettings settings;
  settings.bulk.min_batch = 1;
  settings.bulk.max_delay = std::chrono::minutes(10);  // longer than a test may take
  AdaptiveLimiter limiter(monitor_, settings);
  Start(limiter);
  const uint64_t before = limiter.Stats(Operation::kWrite).admitted[1].bytes;
  std::jthread sleeper([&] {
    // An hour and a half at the drain: it is refused at once, so MaybeThrottle sleeps for the longest wait.
    limiter.MaybeThrottle(Operation::kWrite, {50'000'000'000}, {.work_class = WorkClass::kBulk});
  });
  EXPECT_TRUE(Eventually([&] { return !limiter.Stats(Operation::kWrite).refused.empty(); }));
  limiter.Stop();
  sleeper.join();
  EXPECT_EQ(limiter.Stats(Operation::kWrite).admitted[1].bytes - before, 50'000'000'000U) << "it goes on, and is seen";
}

// A program that ticks by itself may go on after Stop.
TEST_F(LimiterTest, MaybeThrottleSleepsUntilTheNextStopIfTicksGoOnAfterOne) {
  LimiterSettings settings;
  settings.bulk.min_batch = 1;
  settings.bulk.max_delay = std::chrono::minutes(1);  // twenty of them are longer than a test may take
  for (int n = 0; n < 20; ++n) {
    AdaptiveLimiter& limiter = Build(settings);
    limiter.Stop();
    Say(0.9);
    Tick();
    std::atomic<bool> stops_again = false;
    bool slept = false;
    std::jthread sleeper([&] {
      // It is refused at once, because it would take longer than the longest wait.
      limiter.MaybeThrottle(Operation::kWrite, {50'000'000'000}, {.work_class = WorkClass::kBulk});
      slept = stops_again;
    });
    ASSERT_TRUE(Eventually([&] { return !limiter.Stats(Operation::kWrite).refused.empty(); }));
    stops_again = true;
    limiter.Stop();
    sleeper.join();
    EXPECT_TRUE(slept);
  }
}

// A refusal says when to come again, which may be long before the longest wait has passed.
TEST_F(LimiterTest, MaybeThrottleSleepsNoLongerThanTheRefusalSays) {
  LimiterSettings settings;
  settings.bulk.min_batch = 1;
  AdaptiveLimiter& limiter = Build(settings);
  Say(0.9);
  Tick();
  ASSERT_FALSE(BulkPasses());
  Duration slept{-1};
  std::jthread sleeper(
      [&] { slept = limiter.MaybeThrottle(Operation::kWrite, {100'000}, {.work_class = WorkClass::kBulk}); });
  EXPECT_TRUE(Eventually([&] { return limiter.Stats(Operation::kWrite).waiting > 0; }));
  limiter.Stop();  // refused with "stopped": MaybeThrottle returns at once
  sleeper.join();
  EXPECT_EQ(slept, Duration::zero());
}

TEST_F(LimiterTest, MaybeThrottleTakesBatchesToTheGate) {
  AdaptiveLimiter& limiter = Build();
  for (int n = 0; n < 9; ++n) limiter.MaybeThrottle(Operation::kWrite, {100});
  EXPECT_EQ(limiter.Stats(Operation::kWrite).admitted[0].operations, 0U);
  limiter.MaybeThrottle(Operation::kWrite, {100});
  EXPECT_EQ(limiter.Stats(Operation::kWrite).admitted[0].operations, 1U);
  EXPECT_EQ(limiter.Stats(Operation::kWrite).admitted[0].bytes, 1000U);
  for (int n = 0; n < 5; ++n) limiter.MaybeThrottle(Operation::kWrite, {10}, {.work_class = WorkClass::kBulk});
  EXPECT_EQ(limiter.Stats(Operation::kWrite).admitted[1].bytes, 50U) << "an import's batch is smaller";
  for (int n = 0; n < 9; ++n) limiter.MaybeThrottle(Operation::kRead, {10}, {.work_class = WorkClass::kBulk});
  EXPECT_EQ(limiter.Stats(Operation::kRead).admitted[1].operations, 0U)
      << "an import's reads are asked for more rarely";
  limiter.MaybeThrottle(Operation::kRead, {10}, {.work_class = WorkClass::kBulk});
  EXPECT_EQ(limiter.Stats(Operation::kRead).admitted[1].operations, 1U);
}

TEST_F(LimiterTest, MaybeThrottleAsksForFewLargeOperationsToo) {
  LimiterSettings settings;
  settings.max_batch_bytes = 1000;
  AdaptiveLimiter& limiter = Build(settings);
  limiter.MaybeThrottle(Operation::kWrite, {400});
  limiter.MaybeThrottle(Operation::kWrite, {599});
  EXPECT_EQ(limiter.Stats(Operation::kWrite).admitted[0].operations, 0U);
  limiter.MaybeThrottle(Operation::kWrite, {1});
  EXPECT_EQ(limiter.Stats(Operation::kWrite).admitted[0].bytes, 1000U);
  limiter.MaybeThrottle(Operation::kWrite, {5000});
  EXPECT_EQ(limiter.Stats(Operation::kWrite).admitted[0].bytes, 6000U) << "one of them is a batch";
}

TEST_F(LimiterTest, MaybeThrottleChargesEachClassItsOwnBytes) {
  AdaptiveLimiter& limiter = Build();
  for (int n = 0; n < 4; ++n) limiter.MaybeThrottle(Operation::kWrite, {10'000}, {.work_class = WorkClass::kBulk});
  for (int n = 0; n < 10; ++n) limiter.MaybeThrottle(Operation::kWrite, {100});
  EXPECT_EQ(limiter.Stats(Operation::kWrite).admitted[0].bytes, 1000U);
  limiter.MaybeThrottle(Operation::kWrite, {10'000}, {.work_class = WorkClass::kBulk});
  EXPECT_EQ(limiter.Stats(Operation::kWrite).admitted[1].bytes, 50'000U);
}

TEST_F(LimiterTest, MaybeThrottleLeavesNoPermitOfARead) {
  LimiterSettings settings;
  settings.read.min_batch = 1;
  AdaptiveLimiter& limiter = Build(settings);
  Say(ForReads("memory", 2));
  Ticks(5);
  ASSERT_EQ(limiter.View().scans_at_once, 1);
  EXPECT_EQ(limiter.MaybeThrottle(Operation::kRead, {1 << 20}), Duration::zero());
  EXPECT_EQ(limiter.MaybeThrottle(Operation::kRead, {1 << 20}), Duration::zero()) << "not behind the first";
  EXPECT_EQ(limiter.Stats(Operation::kRead).running, 0);
}

TEST_F(LimiterTest, MaybeThrottleLosesNoBytesWhenThreadsShareASlot) {
  AdaptiveLimiter& limiter = Build();
  constexpr int kThreads = 80;
  constexpr int kEach = 1000;
  constexpr uint64_t kAll = uint64_t{100} * kThreads * kEach;
  std::latch start(kThreads);
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      for (int n = 0; n < kEach; ++n) limiter.MaybeThrottle(Operation::kWrite, {100});
    });
  }
  threads.clear();
  const uint64_t bytes = limiter.Stats(Operation::kWrite).admitted[0].bytes;
  EXPECT_LE(bytes, kAll);
  EXPECT_GE(bytes, kAll - uint64_t{1000} * kThreadSlots) << "but for the batches under way";
}

}  // namespace
}  // namespace weir
