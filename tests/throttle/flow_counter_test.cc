#include "throttle/flow_counter.h"

#include <gtest/gtest.h>

#include <barrier>
#include <memory>
#include <thread>
#include <vector>

namespace weir {
namespace {

TEST(FlowCounter, StartsAtNothing) {
  const FlowCounter counter;
  EXPECT_EQ(counter.Sum().operations, 0U);
  EXPECT_EQ(counter.Sum().bytes, 0U);
}

TEST(FlowCounter, IsExactForMoreThreadsThanItHasStripes) {
  constexpr int kThreads = 150;
  constexpr uint64_t kEach = 2000;
  auto counter = std::make_unique<FlowCounter>();
  std::barrier start(kThreads);
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      for (uint64_t n = 0; n < kEach; ++n) counter->Add(7);
    });
  }
  threads.clear();
  EXPECT_EQ(counter->Sum().operations, kThreads * kEach);
  EXPECT_EQ(counter->Sum().bytes, kThreads * kEach * 7);
}

TEST(FlowCounter, IsExactWhenThreadsInheritTheSlotsOfOthers) {
  constexpr uint64_t kRounds = 200;
  auto counter = std::make_unique<FlowCounter>();
  for (uint64_t round = 0; round < kRounds; ++round) {
    std::jthread one([&] { counter->Add(1); });
    std::jthread other([&] { counter->Add(2); });
  }
  EXPECT_EQ(counter->Sum().operations, 2 * kRounds);
  EXPECT_EQ(counter->Sum().bytes, 3 * kRounds);
}

TEST(FlowCounter, AddWithinBoundsAllThreadsTogetherInEachEpoch) {
  auto counter = std::make_unique<FlowCounter>();
  EXPECT_TRUE(counter->AddWithin(60, 1, 100));
  EXPECT_FALSE(counter->AddWithin(60, 1, 100));
  EXPECT_TRUE(counter->AddWithin(20, 1, 100));
  std::thread([&] {
    EXPECT_FALSE(counter->AddWithin(21, 1, 100));
    EXPECT_TRUE(counter->AddWithin(19, 1, 100));
  }).join();
  EXPECT_TRUE(counter->AddWithin(100, 2, 100));
  EXPECT_FALSE(counter->AddWithin(UINT64_MAX, 3, 100));
  EXPECT_EQ(counter->Sum().bytes, 199U) << "what was not within is not counted";
  EXPECT_EQ(counter->Sum().operations, 4U);
}

TEST(FlowCounter, WithoutABoundEverythingPasses) {
  auto counter = std::make_unique<FlowCounter>();
  for (const uint64_t bytes : {UINT64_MAX, uint64_t{1}, UINT64_MAX}) {
    EXPECT_TRUE(counter->AddWithin(bytes, 1, UINT64_MAX));
    EXPECT_TRUE(counter->AddWithin(bytes, 2, UINT64_MAX));
  }
}

// All threads live at once, so most of them share the last slot.
TEST(FlowCounter, AddWithinBoundsThreadsThatShareASlotToo) {
  constexpr int kThreads = 200;
  constexpr uint64_t kAllowance = 100;
  auto counter = std::make_unique<FlowCounter>();
  for (const uint32_t epoch : {1u, 2u}) {
    const uint64_t before = counter->Sum().bytes;
    std::barrier everybody(kThreads);
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        (void)ThreadSlot();
        everybody.arrive_and_wait();
        for (int n = 0; n < 200; ++n) (void)counter->AddWithin(1, epoch, kAllowance);
        everybody.arrive_and_wait();
      });
    }
    threads.clear();
    const uint64_t admitted = counter->Sum().bytes - before;
    EXPECT_EQ(admitted, kAllowance);
  }
}

TEST(FlowCounter, NeverRunsBackwardsForAReader) {
  auto counter = std::make_unique<FlowCounter>();
  std::jthread writer([&](std::stop_token stop) {
    while (!stop.stop_requested()) counter->Add(3);
  });
  Flow last;
  for (int i = 0; i < 2000; ++i) {
    const Flow now = counter->Sum();
    EXPECT_GE(now.operations, last.operations);
    EXPECT_GE(now.bytes, last.bytes);
    last = now;
  }
}

}  // namespace
}  // namespace weir
