#include "throttle/limits/by_name/turn.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/fixtures/eventually.h"

namespace weir {
namespace {

template <typename Piece>
bool Do(Turn& turn, Piece piece) {
  return turn.Do(piece, [&] { return piece; });
}

TEST(Turn, RunsAtOnceIfIdle) {
  Turn turn;
  bool ran = false;
  EXPECT_TRUE(Do(turn, [&] { ran = true; }));
  EXPECT_TRUE(ran);
}

TEST(Turn, MakesNoOwningPieceIfItRunsAtOnce) {
  Turn turn;
  bool made = false;
  turn.Do([] {}, [&] { return made = true, [] {}; });
  EXPECT_FALSE(made);
}

TEST(Turn, RunsNestedPiecesAfterTheCurrentOne) {
  Turn turn;
  std::string order;
  Do(turn, [&] {
    Do(turn, [&] { order += 'b'; });
    Do(turn, [&] { order += 'c'; });
    order += 'a';
  });
  EXPECT_EQ(order, "abc");
}

TEST(Turn, StopsAfterSoManyForOthersAndLeavesTheRestToTheNext) {
  Turn turn;
  size_t ran = 0;
  // Each call adds another one, for ever.
  std::function<void()> again = [&] {
    ++ran;
    Do(turn, [&] { again(); });
  };
  EXPECT_FALSE(Do(turn, [&] { again(); }));
  EXPECT_EQ(ran, Turn::kMostForOthers + 1);

  again = [&] { ++ran; };
  size_t ran_before_mine = 0;
  EXPECT_TRUE(Do(turn, [&] { ran_before_mine = ran; }));
  EXPECT_EQ(ran_before_mine, Turn::kMostForOthers + 2);
}

TEST(Turn, DropsThePiecesLeftWhenItEnds) {
  auto held = std::make_shared<int>();
  {
    Turn turn;
    std::function<void()> again = [&] { Do(turn, [&again, held] { again(); }); };
    EXPECT_FALSE(Do(turn, [&] { again(); }));
    EXPECT_EQ(held.use_count(), 2);  // here, and in the call that is left
  }
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Turn, RunsPiecesOfManyThreadsOnceAndInTheirOrder) {
  constexpr int kThreads = 4, kPieces = 20'000;
  Turn turn;
  std::vector<int> last(kThreads, -1);
  int64_t ran = 0;  // not atomic: the turn alone must protect it
  bool in_order = true;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kPieces; ++i)
        Do(turn, [&, thread, i] {
          in_order = in_order && last[static_cast<size_t>(thread)] == i - 1;
          last[static_cast<size_t>(thread)] = i;
          ++ran;
        });
    });
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(Eventually([&] { return Do(turn, [] {}); }));
  EXPECT_EQ(ran, kThreads * kPieces);
  EXPECT_TRUE(in_order);
}

}  // namespace
}  // namespace weir
