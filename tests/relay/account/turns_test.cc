#include "relay/account/turns.h"

#include <gtest/gtest.h>

#include <new>
#include <optional>
#include <string>
#include <utility>

#include "tests/fixtures/failing_memory.h"

namespace weir {
namespace {

std::string PopAll(Turns<char>& turns) {
  std::string order;
  while (!turns.empty()) order.push_back(turns.Pop());
  return order;
}

TEST(Turns, GroupsTakeTurnsThenTheirPartiesAndEachKeepsItsOrder) {
  Turns<char> turns;
  for (char item : {'a', 'b', 'c'}) turns.Push({.id = 1, .group = 1}, char{item}, 1);
  for (char item : {'d', 'e'}) turns.Push({.id = 2, .group = 1}, char{item}, 1);
  for (char item : {'x', 'y'}) turns.Push({.id = 3, .group = 2}, char{item}, 1);
  EXPECT_EQ(turns.Front(), 'a');
  EXPECT_EQ(PopAll(turns), "axdybec");
}

TEST(Turns, GroupsTakeTurnsByWorkAndSoDoTheirParties) {
  Turns<char> turns;
  for (char item : {'A', 'B'}) turns.Push({.id = 1, .group = 1}, char{item}, 10);
  for (char item : {'c', 'd'}) turns.Push({.id = 2, .group = 1}, char{item}, 2);
  for (char item : {'v', 'w', 'x', 'y', 'z'}) turns.Push({.id = 3, .group = 2}, char{item}, 3);
  EXPECT_EQ(turns.FrontWork(), 2U);
  EXPECT_EQ(PopAll(turns), "cvdwxyAzB");
}

TEST(Turns, ChargesTheWorkOfAnItemToItsGroup) {
  Turns<char> turns;
  for (char item : {'a', 'b'}) turns.Push({.id = 1, .group = 1}, char{item}, 1);
  for (char item : {'v', 'w', 'x', 'y', 'z'}) turns.Push({.id = 2, .group = 2}, char{item}, 1);
  EXPECT_EQ(turns.Pop(), 'a');
  turns.End({.id = 1, .group = 1}, 1, 4);
  EXPECT_EQ(PopAll(turns), "vwxybz");
}

TEST(Turns, AnItemThatIsPutBackIsNextAgain) {
  Turns<char> turns;
  for (char item : {'a', 'b'}) turns.Push({.id = 1, .group = 1}, char{item}, 1);
  for (char item : {'x', 'y'}) turns.Push({.id = 2, .group = 2}, char{item}, 1);
  char first = turns.Pop();
  char second = turns.Pop();
  turns.PutBack({.id = 2, .group = 2}, char{second}, 1, 0);
  turns.PutBack({.id = 1, .group = 1}, char{first}, 1, 0);
  EXPECT_EQ(PopAll(turns), "axby");
}

TEST(Turns, AnItemPutBackAfterMuchWorkYieldsToOtherPartiesAlone) {
  Turns<char> turns;
  for (char item : {'a', 'b'}) turns.Push({.id = 1, .group = 1}, char{item}, 1);
  turns.Push({.id = 2, .group = 1}, 'c', 1);
  turns.Push({.id = 3, .group = 2}, 'x', 1);
  turns.PutBack({.id = 1, .group = 1}, turns.Pop(), 1, 5);
  EXPECT_EQ(PopAll(turns), "xcab");
}

TEST(Turns, RemembersFewOfManyPartiesThatComeAndGo) {
  Turns<char> turns;
  for (uint64_t stranger = 1; stranger <= 10'000; ++stranger) {
    const Party party{.id = stranger, .group = stranger};
    turns.Push(party, 'a', kTurnWork);
    turns.Pop();
    if (stranger == 1) turns.Push({.id = 20'000}, 'b', 100 * kTurnWork);  // one is always there
    turns.End(party, kTurnWork, kTurnWork);
    ASSERT_LE(turns.lines(), 1 + FairTurns::kShares);
  }
}

// Whichever allocation fails, the change happens wholly or not at all, and the item is not lost.
TEST(Turns, WhereMemoryFailsNothingHasChanged) {
  using Text = std::unique_ptr<std::string>;
  for (const bool put_back : {false, true}) {
    size_t failures = 0;
    for (size_t n = 1; n == failures + 1; ++n) {
      Turns<Text> turns;
      Work work = 3;
      for (const Party& party : {Party{.id = 1, .group = 1}, Party{.id = 2, .group = 1}, Party{.id = 3, .group = 2}}) {
        Text item = std::make_unique<std::string>("new");
        // Each asks for less work than those before it, so that it is the next.
        if (put_back) {
          turns.Push(party, std::move(item), work);
          item = turns.Pop();
        }
        const auto put = [&] {
          put_back ? turns.PutBack(party, std::move(item), work, 0) : turns.Push(party, std::move(item), work);
        };
        FailAllocation(n);
        try {
          put();
        } catch (const std::bad_alloc&) {
        }
        if (EndFailing()) {
          ++failures;
          ASSERT_NE(item, nullptr) << "it was lost";
          put();
        }
        --work;
      }
      size_t count = 0;
      for (; !turns.empty(); ++count) ASSERT_NE(turns.Pop(), nullptr);
      EXPECT_EQ(count, 3U);
      failures = std::min(failures, n);
    }
    EXPECT_GE(failures, put_back ? 1U : 4U);
  }
}

}  // namespace
}  // namespace weir
