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
  for (char item : {'a', 'b', 'c'}) turns.Push({.id = 1, .group = 1}, char{item});
  for (char item : {'d', 'e'}) turns.Push({.id = 2, .group = 1}, char{item});
  for (char item : {'x', 'y'}) turns.Push({.id = 3, .group = 2}, char{item});
  EXPECT_EQ(turns.Front(), 'a');
  EXPECT_EQ(PopAll(turns), "axdybec");
}

TEST(Turns, WhatIsPutBackIsNextAgain) {
  Turns<char> turns;
  for (char item : {'a', 'b'}) turns.Push({.id = 1, .group = 1}, char{item});
  for (char item : {'x', 'y'}) turns.Push({.id = 2, .group = 2}, char{item});
  char first = turns.Pop();
  char second = turns.Pop();
  turns.PutBack({.id = 2, .group = 2}, char{second}, false);
  turns.PutBack({.id = 1, .group = 1}, char{first}, false);
  EXPECT_EQ(PopAll(turns), "axby");
}

TEST(Turns, WhatIsPutBackBehindTheOthersStaysTheFirstOfItsOwn) {
  Turns<char> turns;
  for (char item : {'a', 'b'}) turns.Push({.id = 1, .group = 1}, char{item});
  turns.Push({.id = 2, .group = 1}, 'c');
  turns.Push({.id = 3, .group = 2}, 'x');
  turns.PutBack({.id = 1, .group = 1}, turns.Pop(), true);
  EXPECT_EQ(PopAll(turns), "xcab");
}

// Whichever allocation fails, the change happens wholly or not at all, and the item is not lost.
TEST(Turns, WhereMemoryFailsNothingHasChanged) {
  using Text = std::unique_ptr<std::string>;
  for (const bool put_back : {false, true}) {
    size_t failures = 0;
    for (size_t n = 1; n == failures + 1; ++n) {
      Turns<Text> turns;
      // As many as a deque's block has room for, so that the next one needs another.
      for (int i = 0; i < 64; ++i) turns.Push({.id = 1, .group = 1}, std::make_unique<std::string>("a"));
      for (const Party& party : {Party{.id = 1, .group = 1}, Party{.id = 2, .group = 1}, Party{.id = 3, .group = 2}}) {
        Text item = std::make_unique<std::string>("new");
        FailAllocation(n);
        try {
          put_back ? turns.PutBack(party, std::move(item), false) : turns.Push(party, std::move(item));
        } catch (const std::bad_alloc&) {
        }
        if (EndFailing()) {
          ++failures;
          ASSERT_NE(item, nullptr) << "it was lost";
          put_back ? turns.PutBack(party, std::move(item), false) : turns.Push(party, std::move(item));
        }
      }
      size_t count = 0;
      for (; !turns.empty(); ++count) ASSERT_NE(turns.Pop(), nullptr);
      EXPECT_EQ(count, 67U);
      failures = std::min(failures, n);
    }
    EXPECT_GT(failures, 3U);
  }
}

}  // namespace
}  // namespace weir
