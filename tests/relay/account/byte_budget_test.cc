#include "relay/account/byte_budget.h"

#include <gtest/gtest.h>

#include <new>
#include <string>

#include "tests/fixtures/failing_memory.h"

namespace weir {
namespace {

constexpr uint64_t kAlice = 1;
constexpr uint64_t kBob = 2;
constexpr uint64_t kCarol = 3;

TEST(ByteBudget, SmallRequestsGoFirstAndEqualOnesInTheirOrder) {
  ByteBudget budget(100);
  std::string order;
  EXPECT_TRUE(budget.Take(1, 80, {}));
  EXPECT_FALSE(budget.Take(2, 90, [&] { order += "a"; }));
  EXPECT_FALSE(budget.Take(3, 5, [&] { order += "b"; })) << "though it would fit: others wait";
  EXPECT_FALSE(budget.Take(4, 200, [&] { order += "c"; }));
  EXPECT_FALSE(budget.Take(5, 5, [&] { order += "d"; }));
  budget.GiveBack(80);
  EXPECT_EQ(order, "bda");
  EXPECT_EQ(budget.out(), 100U);
  EXPECT_EQ(budget.waiting(), 1U);
  budget.GiveBack(10);
  EXPECT_EQ(order, "bda") << "more than there is passes alone";
  budget.GiveBack(90);
  EXPECT_EQ(order, "bdac");
  budget.GiveBack(200);
  EXPECT_EQ(budget.out(), 0U);
}

// An address that brings small events once waited for an event of each address that brings large ones.
TEST(ByteBudget, GroupsTakeTurnsByBytes) {
  ByteBudget budget(100);
  std::string order;
  ASSERT_TRUE(budget.Take(kCarol, 100, {}));
  for (uint64_t stranger = 10; stranger < 15; ++stranger)
    EXPECT_FALSE(budget.Take(stranger, 20, [&] { order += "x"; }));
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(budget.Take(kBob, 8, [&] { order += "b"; }));
  budget.GiveBack(100);
  EXPECT_EQ(order, "bbxxxx") << "a third of eight would be more than the others have had";
}

TEST(ByteBudget, GroupsThatWaitTakeTurns) {
  ByteBudget budget(100);
  std::string order;
  ASSERT_TRUE(budget.Take(kCarol, 100, {}));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(budget.Take(kAlice, 5, [&] { order += "a"; }));
  EXPECT_FALSE(budget.Take(kBob, 10, [&] { order += "b"; }));
  budget.GiveBack(10);
  EXPECT_EQ(order, "a") << "Bob's ten bytes do not fit any more";
  budget.GiveBack(90);
  EXPECT_EQ(order, "abaa") << "Bob does not wait for all that Alice asked before him";
}

TEST(ByteBudget, AGroupHasAtMostAQuarterAndDelaysNoOtherGroup) {
  ByteBudget budget(100);
  std::string order;
  ASSERT_TRUE(budget.Take(kAlice, 20, {}));
  EXPECT_FALSE(budget.Take(kAlice, 6, [&] { order += "a"; }));
  EXPECT_FALSE(budget.Take(kAlice, 1, [&] { order += "A"; })) << "nor does she pass herself";
  EXPECT_TRUE(budget.Take(kBob, 25, {})) << "whoever waits for her own part is in nobody's way";
  budget.GiveBack(20);
  EXPECT_EQ(order, "") << "an event that was given back may not be answered yet";
  budget.Answered(kAlice, 20);
  EXPECT_EQ(order, "aA");
  EXPECT_EQ(budget.out_of(kAlice), 7U);
  budget.Answered(kAlice, 7);
  EXPECT_TRUE(budget.Take(kAlice, 40, {})) << "one event may be larger than a quarter";
}

// Destructors give bytes back.
TEST(ByteBudget, WhereMemoryFailsItStillGrants) {
  ByteBudget budget(100);
  std::string order;
  ASSERT_TRUE(budget.Take(kCarol, 100, {}));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(budget.Take(kAlice, 5, [&] { order += "a"; }));
  EXPECT_FALSE(budget.Take(kBob, 40, [&] { order += "b"; }));
  FailAllocation(1);
  budget.GiveBack(100);
  budget.Answered(kCarol, 100);
  EXPECT_FALSE(EndFailing());
  EXPECT_EQ(order, "aaab");
  EXPECT_EQ(budget.out_of(kCarol), 0U);
  EXPECT_EQ(budget.out_of(kBob), 40U);
}

TEST(ByteBudget, TellsAGrantAgainIfItsCallbackThrew) {
  ByteBudget budget(100);
  std::string order;
  bool fails = true;
  ASSERT_TRUE(budget.Take(kCarol, 100, {}));
  EXPECT_FALSE(budget.Take(kAlice, 5, [&] {
    if (fails) throw std::bad_alloc();
    order += "a";
  }));
  EXPECT_FALSE(budget.Take(kBob, 10, [&] { order += "b"; }));
  EXPECT_NO_THROW(budget.GiveBack(100));
  EXPECT_NO_THROW(budget.Answered(kCarol, 100));
  EXPECT_EQ(order, "b") << "the other grant is told all the same";
  EXPECT_EQ(budget.out(), 15U);
  fails = false;
  budget.TellGranted();
  budget.TellGranted();
  EXPECT_EQ(order, "ba");
}

TEST(ByteBudget, AWaitingGroupWithoutBytesMayExceedItsShare) {
  ByteBudget budget(100);
  std::string order;
  ASSERT_TRUE(budget.Take(kAlice, 20, {}));
  EXPECT_FALSE(budget.Take(kAlice, 40, [&] { order += "a"; }));
  budget.Answered(kAlice, 20);
  EXPECT_EQ(order, "a");
  EXPECT_EQ(budget.out_of(kAlice), 40U);
}

}  // namespace
}  // namespace weir
