#include "relay/account/work_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/fixtures/eventually.h"

namespace weir {
namespace {

constexpr Work kCheap = WorkPool::kUsualWork;

// A pool whose one thread stands still while the test submits, so that the order is the pool's own.
class Order {
 public:
  explicit Order(size_t threads = 1) : pool_(threads) {
    pool_.Submit(Urgency::kUrgent, Party{.id = 99}, [this] { go_.get_future().wait(); });
    EXPECT_TRUE(Eventually([this] { return pool_.waiting() == 0; }));
  }

  void Submit(Urgency urgency, uint64_t party, const std::string& name, uint64_t group = 0,
              Work work = WorkPool::kUsualWork) {
    ++submitted_;
    pool_.Submit(urgency, Party{.id = party, .group = group}, [this, name, work] {
      Note(name);
      return work;
    });
  }
  // Submits a task whose work is known before.
  void SubmitKnown(uint64_t party, const std::string& name, Work work) {
    ++submitted_;
    pool_.Submit(Urgency::kFair, Party{.id = party}, work, [this, name] { Note(name); });
  }
  // Runs `then` within the task that has this number.
  void Then(size_t number, std::function<void()> then) {
    then_after_ = number;
    then_ = std::move(then);
  }
  void Fail(uint64_t party = 0) {
    pool_.Submit(Urgency::kUrgent, Party{.id = party}, [] { throw std::runtime_error("as a test wants it"); });
  }
  std::string Run() {
    go_.set_value();
    EXPECT_TRUE(Eventually([this] { return done_ == submitted_; }));
    const std::lock_guard lock(mutex_);
    return order_;
  }

 private:
  void Note(const std::string& name) {
    if (then_ && done_ + 1 == then_after_) std::exchange(then_, nullptr)();
    const std::lock_guard lock(mutex_);
    order_ += (order_.empty() ? "" : " ") + name;
    ++done_;
  }

  std::promise<void> go_;
  std::mutex mutex_;
  std::string order_;
  std::atomic<size_t> done_{0};
  std::atomic<size_t> submitted_{0};
  size_t then_after_ = 0;
  std::function<void()> then_;
  WorkPool pool_;  // ends first
};

TEST(WorkPool, PartiesTakeTurnsAndKeepTheirOrder) {
  Order order;
  for (int i = 1; i <= 4; ++i) order.Submit(Urgency::kFair, 1, "flood" + std::to_string(i));
  order.Submit(Urgency::kFair, 2, "b1");
  order.Submit(Urgency::kFair, 3, "c1");
  order.Submit(Urgency::kFair, 2, "b2");
  EXPECT_EQ(order.Run(), "flood1 b1 c1 flood2 b2 flood3 flood4");
}

TEST(WorkPool, ManyConnectionsOfOneAddressAreOne) {
  Order order;
  for (uint64_t party = 1; party <= 3; ++party)
    for (int i = 1; i <= 2; ++i) order.Submit(Urgency::kFair, party, "a" + std::to_string(party), 7);
  for (int i = 1; i <= 3; ++i) order.Submit(Urgency::kFair, 4, "b", 9);
  EXPECT_EQ(order.Run(), "a1 b a2 b a3 b a1 a2 a3");
}

TEST(WorkPool, AFailedTaskEndsNothing) {
  Order order;
  order.Fail();
  order.Submit(Urgency::kFair, 1, "next");
  EXPECT_EQ(order.Run(), "next");
}

TEST(WorkPool, BetweenAddressesUrgencyCountsForNothing) {
  Order order;
  order.Submit(Urgency::kFair, 1, "event");
  for (int i = 1; i <= 3; ++i) order.Submit(Urgency::kUrgent, 2, "u" + std::to_string(i));
  EXPECT_EQ(order.Run(), "event u1 u2 u3");
}

// Strangers that came without end once held up every known client.
TEST(WorkPool, SmallTasksGoBeforeLargeOnesOfNewAddresses) {
  Order order;
  order.SubmitKnown(1, "light1", kSignatureWork);
  for (uint64_t stranger = 10; stranger < 15; ++stranger) order.SubmitKnown(stranger, "heavy", kTurnWork);
  order.Then(3, [&order] {
    for (uint64_t stranger = 20; stranger < 23; ++stranger) order.SubmitKnown(stranger, "new", kTurnWork);
    order.SubmitKnown(1, "light2", kSignatureWork);
  });
  EXPECT_EQ(order.Run(), "light1 heavy heavy light2 heavy heavy heavy new new new");
}

// An event has no standing before its signature is verified, so the authors do not matter here.
TEST(WorkPool, AHundredFloodingAddressesDoNotHoldUpOne) {
  constexpr int kArrives = 250;
  Order order;
  for (int i = 0; i < 5; ++i)
    for (uint64_t flooding = 100; flooding < 200; ++flooding) order.SubmitKnown(flooding, "f", 4 * kSignatureWork);
  order.Then(kArrives, [&order] { order.SubmitKnown(1, "REGULAR", kSignatureWork); });
  const std::string ran = order.Run();
  const std::string before = ran.substr(0, ran.find("REGULAR"));
  EXPECT_LT(std::ranges::count(before, 'f'), kArrives + 100) << "it waited for a whole round";
}

TEST(WorkPool, WithinAnAddressOneOfEightTasksIsNotUrgent) {
  Order order;
  order.Submit(Urgency::kFair, 1, "event", 7);
  for (int i = 1; i <= 9; ++i) order.Submit(Urgency::kUrgent, 2, "u" + std::to_string(i), 7);
  EXPECT_EQ(order.Run(), "u1 u2 u3 u4 u5 u6 u7 event u8 u9");
}

// Seven heavy first slices in a row once held up every client.
TEST(WorkPool, AHeavyAddressWaitsForOthersThoughItIsUrgent) {
  Order order;
  for (int i = 1; i <= 4; ++i) order.Submit(Urgency::kUrgent, 1, "heavy" + std::to_string(i), 0, 3 * kTurnWork);
  for (int i = 1; i <= 3; ++i) order.Submit(Urgency::kFair, 2, "event" + std::to_string(i));
  EXPECT_EQ(order.Run(), "heavy1 event1 event2 event3 heavy2 heavy3 heavy4");
}

TEST(WorkPool, TurnsAreGivenByTheWorkDone) {
  Order order;
  for (int i = 1; i <= 3; ++i) order.Submit(Urgency::kFair, 1, "dear" + std::to_string(i), 0, 4 * kCheap);
  for (int i = 1; i <= 12; ++i) order.Submit(Urgency::kFair, 2, "c", 0, kCheap);
  EXPECT_EQ(order.Run(), "dear1 c c c c dear2 c c c c dear3 c c c c");
}

// Otherwise an address with one request at a time would always be first.
TEST(WorkPool, RemembersTheUseOfAnAddressWhileOthersWait) {
  Order order;
  order.Submit(Urgency::kFair, 1, "dear", 0, 4 * kCheap);
  for (int i = 1; i <= 6; ++i) order.Submit(Urgency::kFair, 2, "c", 0, kCheap);
  order.Then(2, [&order] { order.Submit(Urgency::kFair, 1, "again", 0, kCheap); });
  EXPECT_EQ(order.Run(), "dear c c c c again c c");
}

TEST(WorkPool, LongAndFairTakeTurns) {
  Order order;
  for (int i = 1; i <= 3; ++i) order.Submit(Urgency::kLong, 1, "scan" + std::to_string(i), 7);
  for (int i = 1; i <= 3; ++i) order.Submit(Urgency::kFair, 2, "event" + std::to_string(i), 7);
  EXPECT_EQ(order.Run(), "event1 scan1 event2 scan2 event3 scan3");
}

TEST(WorkPool, ATaskThatFailsCostsAWholeTurn) {
  Order order;
  order.Fail(1);
  order.Submit(Urgency::kFair, 1, "next");
  for (int i = 1; i <= 7; ++i) order.Submit(Urgency::kFair, 2, "c");
  EXPECT_EQ(order.Run(), "c c c c c c c next");
}

TEST(WorkPool, LongTasksLeaveAThreadForTheOthers) {
  WorkPool pool(3);
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  std::atomic<int> done{0};
  std::promise<void> go;
  const std::shared_future<void> gone(go.get_future());
  for (int i = 0; i < 20; ++i) {
    pool.Submit(Urgency::kLong, Party{.id = static_cast<uint64_t>(i)}, [&] {
      const int now = ++running;
      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) continue;
      gone.wait();
      --running;
      ++done;
    });
  }
  ASSERT_TRUE(Eventually([&] { return running == 2; }));
  std::promise<void> short_one;
  pool.Submit(Urgency::kFair, Party{.id = 99}, [&] { short_one.set_value(); });
  short_one.get_future().wait();
  go.set_value();
  EXPECT_TRUE(Eventually([&] { return done == 20; }));
  EXPECT_EQ(most, 2);
}

TEST(WorkPool, RunsWhatWasSubmittedBeforeItEnds) {
  std::atomic<int> done{0};
  {
    WorkPool pool(2);
    for (int i = 0; i < 1000; ++i) {
      pool.Submit(static_cast<Urgency>(i % 3), Party{.id = static_cast<uint64_t>(i % 7)}, [&] {
        if (++done <= 100) pool.Submit(Urgency::kLong, Party{.id = 1}, [&] { ++done; });
      });
    }
  }
  EXPECT_GE(done, 1000);
}

TEST(WorkPool, ManyThreadsSubmit) {
  std::atomic<int> done{0};
  {
    WorkPool pool(2);
    std::vector<std::thread> submitters;
    for (int t = 0; t < 4; ++t) {
      submitters.emplace_back([&, t] {
        for (int i = 0; i < 5000; ++i)
          pool.Submit(static_cast<Urgency>(i % 3), Party{.id = static_cast<uint64_t>(t * 50 + i % 50)},
                      [&] { ++done; });
      });
    }
    for (std::thread& t : submitters) t.join();
  }
  EXPECT_EQ(done, 20'000);
}

}  // namespace
}  // namespace weir
