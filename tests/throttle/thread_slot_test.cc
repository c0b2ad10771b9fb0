#include "throttle/thread_slot.h"

#include <gtest/gtest.h>

#include <barrier>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace weir {
namespace {

// Returns the slots of `count` threads that live at once.
std::vector<size_t> SlotsOf(int count) {
  std::mutex mutex;
  std::vector<size_t> slots;
  std::barrier all_have_one(count);
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&] {
      const size_t slot = ThreadSlot();
      EXPECT_EQ(ThreadSlot(), slot) << "a thread keeps its slot";
      {
        std::lock_guard lock(mutex);
        slots.push_back(slot);
      }
      all_have_one.arrive_and_wait();
    });
  }
  threads.clear();
  return slots;
}

TEST(ThreadSlot, ThreadsThatLiveAtOnceHaveDifferentSlots) {
  const std::vector<size_t> slots = SlotsOf(32);
  EXPECT_EQ(std::set<size_t>(slots.begin(), slots.end()).size(), slots.size());
}

TEST(ThreadSlot, OnlyTheLateOnesShareTheLast) {
  const std::vector<size_t> slots = SlotsOf(100);
  std::multiset<size_t> counted(slots.begin(), slots.end());
  for (size_t slot : slots) {
    EXPECT_LT(slot, kThreadSlots);
    if (slot == kSharedThreadSlot) continue;
    EXPECT_EQ(counted.count(slot), 1U) << slot;
  }
  EXPECT_GT(counted.count(kSharedThreadSlot), 1U);
}

TEST(ThreadSlot, TheSlotsOfThreadsThatEndedAreUsedAgain) {
  for (int round = 0; round < 10; ++round) {
    for (size_t slot : SlotsOf(20)) EXPECT_LT(slot, 40U) << "round " << round;
  }
}

TEST(ThreadSlot, AThreadsLateDestructorsShareTheLastSlot) {
  struct CountsWhenItEnds {
    size_t* slot;
    ~CountsWhenItEnds() { *slot = ThreadSlot(); }
  };
  size_t slot = 0;
  std::thread([&] {
    // It is constructed before the slot is claimed, so it ends after the slot was given back.
    static thread_local CountsWhenItEnds late{&slot};
    late.slot = &slot;
    EXPECT_LT(ThreadSlot(), kSharedThreadSlot);
  }).join();
  EXPECT_EQ(slot, kSharedThreadSlot);
}

}  // namespace
}  // namespace weir
