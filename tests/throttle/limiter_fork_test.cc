// A limiter in a child process that fork() made, where its thread does not exist.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>

#include "tests/fixtures/eventually.h"
#include "tests/fixtures/own_process.h"
#include "tests/fixtures/sanitizers.h"
#include "tests/throttle/scripted_monitor.h"
#include "throttle/adaptive_limiter.h"

namespace weir {
namespace {

constexpr Party kBulk{.id = 1, .work_class = WorkClass::kBulk};

// A limiter on the machine's own clock, in an emergency: for ten seconds bulk writes wait.
struct Throttled {
  Throttled() : limiter(monitor) {
    monitor.Say([](LoadSample* sample) {
      sample->memory_pressure = 2;
      return Status();
    });
    monitor.Start();
    limiter.Start();
    EXPECT_TRUE(Eventually([this] { return limiter.View().emergency_holds; }));
  }
  Admission Write() { return limiter.Admit(Operation::kWrite, {1000}, kBulk); }

  ScriptedMonitor monitor;
  AdaptiveLimiter limiter;
};

TEST(LimiterForkTest, AChildPassesAllWorkAndItsWaitsEnd) {
  auto throttled = std::make_unique<Throttled>();
  Admission waited = throttled->Write();
  Admission polled = throttled->Write();
  Admission cancelled = throttled->Write();
  Admission told = throttled->Write();
  Admission destroyed = throttled->Write();
  ASSERT_TRUE(waited.waiting());
  EXPECT_EQ(CodeOfForkedChild([&] {
              EXPECT_EQ(waited.Wait(), Admission::State::kAdmitted);
              EXPECT_EQ(polled.Poll(), Admission::State::kAdmitted);
              EXPECT_FALSE(cancelled.Cancel()) << "it was admitted";
              bool called = false;
              told.OnSettled([&called] { called = true; });
              EXPECT_TRUE(called);
              destroyed = Admission();
              EXPECT_TRUE(throttled->Write().admitted());
              for (int n = 0; n < 100; ++n)
                EXPECT_EQ(throttled->limiter.MaybeThrottle(Operation::kWrite, {1000}, kBulk), Duration::zero());
              throttled->limiter.Start();
              throttled->limiter.Stop();
              throttled.reset();
            }),
            0);
  EXPECT_TRUE(waited.waiting()) << "the parent's requests still wait";
  EXPECT_TRUE(throttled->Write().waiting());
}

// glibc gives the stacks of the parent's threads, and with them their identities, to threads of the child.
TEST(LimiterForkTest, TheThreadsOfAChildAreItsOwn) {
  if (__tsan_init != nullptr) GTEST_SKIP() << "the thread sanitizer starts no threads in a child of many";
  auto throttled = std::make_unique<Throttled>();
  EXPECT_EQ(CodeOfForkedChild([&throttled] {
              std::array<std::thread, 8> threads;
              std::atomic<bool> done = false;
              for (std::thread& thread : threads) thread = std::thread([&done] { done.wait(false); });
              throttled.reset();
              done = true;
              done.notify_all();
              for (std::thread& thread : threads) thread.join();
            }),
            0);
}

TEST(LimiterForkTest, AChildEndsWhileOtherThreadsOfTheParentWait) {
  Throttled throttled;
  std::thread waits([&throttled] { EXPECT_EQ(throttled.Write().Wait(), Admission::State::kRefused); });
  ASSERT_TRUE(Eventually([&] { return throttled.limiter.Stats(Operation::kWrite).waiting == 1; }));
  EXPECT_EQ(CodeOfForkedChild([&throttled] { throttled.limiter.~AdaptiveLimiter(); }), 0);
  throttled.limiter.Stop();
  waits.join();
}

TEST(LimiterForkDeathTest, AStaticLimiterLetsAChildExit) {
  if (Sanitized()) GTEST_SKIP() << "in a child that exits, what the parent's threads own counts as leaked";
  ExpectReturnsInOwnProcess([] {
    static Throttled throttled;
    EXPECT_TRUE(throttled.Write().waiting());
    EXPECT_EQ(CodeOfForkedChild([] { std::exit(0); }), 0);
  });
}

TEST(LimiterThreadEndTest, AThreadThatEndsLeavesTheQueue) {
  Throttled throttled;
  std::thread([&throttled] {
    thread_local Admission waits;
    waits = throttled.Write();
    EXPECT_TRUE(waits.waiting());
  }).join();
  const GateStats stats = throttled.limiter.Stats(Operation::kWrite);
  EXPECT_EQ(stats.waiting, 0u);
  EXPECT_EQ(stats.cancelled, 1u);
}

}  // namespace
}  // namespace weir
