#include "throttle/limits/queued/queued_events.h"

#include <thread>

#include "gtest/gtest.h"

namespace weir {
namespace {

QueuedEvent Event(uint32_t depth) { return {.depth = depth}; }

TEST(QueuedEvents, GivesThemInTheirOrder) {
  QueuedEvents events(4);
  for (uint32_t round = 0; round < 10; ++round) {
    for (uint32_t i = 0; i < 4; ++i) events.Push(Event(round * 4 + i));
    for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(events.Pop().value().depth, round * 4 + i);
    EXPECT_FALSE(events.Pop());
  }
}

TEST(QueuedEvents, DropsAndCountsEventsBeyondItsRoom) {
  QueuedEvents events(3);  // has room for 4
  for (uint32_t i = 0; i < 10; ++i) events.Push(Event(i));
  EXPECT_EQ(events.dropped(), 6u);
  EXPECT_EQ(events.Pop().value().depth, 0u);
  events.Push(Event(10));
  EXPECT_EQ(events.dropped(), 6u);
}

TEST(QueuedEvents, KeepsNothingThatWasTaken) {
  QueuedEvents events(2);
  auto path = std::make_shared<const std::string>("/a");
  events.Push({.endpoint = path});
  events.Pop();
  EXPECT_EQ(path.use_count(), 1);
}

TEST(QueuedEvents, LosesOnlyTheEventsItCountsBetweenThreads) {
  constexpr int kThreads = 3, kEach = 20'000;
  QueuedEvents events(64);
  std::atomic<int> writing{kThreads};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (uint32_t at = 0; at < kEach; ++at) events.Push(Event(at));
      --writing;
    });
  uint64_t read = 0;
  for (bool last = false; !last;) {
    last = writing == 0;
    while (events.Pop()) ++read;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(read + events.dropped(), uint64_t{kThreads} * kEach);
}

}  // namespace
}  // namespace weir
