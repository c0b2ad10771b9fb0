#include "relay/account/running_limit.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace weir {
namespace {

TEST(RunningLimit, GivesAsManySlotsAsThereAreUntilTheyAreGivenBack) {
  RunningLimit limit(2);
  auto first = limit.Take();
  auto second = limit.Take();
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_EQ(limit.Take(), nullptr);
  EXPECT_EQ(limit.running(), 2);
  first.reset();
  EXPECT_EQ(limit.running(), 1);
  EXPECT_NE(limit.Take(), nullptr);
}

TEST(RunningLimit, AnExceptionGivesItsSlotBack) {
  RunningLimit limit(1);
  try {
    const auto slot = limit.Take();
    throw 1;
  } catch (int) {
  }
  EXPECT_EQ(limit.running(), 0);
}

TEST(RunningLimit, WaitsUntilNoneRuns) {
  RunningLimit limit(4);
  limit.WaitForNone();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([slot = limit.Take()]() mutable { slot.reset(); });
  limit.WaitForNone();
  EXPECT_EQ(limit.running(), 0);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace weir
