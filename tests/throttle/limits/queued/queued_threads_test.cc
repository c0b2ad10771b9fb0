#include <atomic>
#include <functional>
#include <future>
#include <thread>

#include "tests/throttle/limits/queued/queued_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using Algorithm = EndpointConfig::Algorithm;
using Scheduler = EndpointConfig::Scheduler;

void OnThreads(int threads, const std::function<void(int)>& what) {
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) running.emplace_back(what, i);
  for (std::thread& thread : running) thread.join();
}

struct Tally {
  std::atomic<uint64_t> served{0};
  std::atomic<uint64_t> answered{0};
};
// Leaves while it waits, or stays.
struct TallyingCaller : QueuedCaller {
  void OnWaiting(QueuedTicket ticket) override {
    if (leaves) limiter->Leave(ticket);
  }
  void OnAnswer(const QueuedAnswer& answer) override {
    if (answer.code == QueuedCode::kServed) ++tally->served;
    ++tally->answered;
  }
  QueuedLimiter* limiter = nullptr;
  bool leaves = false;
  Tally* tally = nullptr;
};

std::shared_ptr<TallyingCaller> CallerOf(QueuedLimiter& limiter, Tally& tally, bool leaves) {
  auto caller = std::make_shared<TallyingCaller>();
  caller->limiter = &limiter;
  caller->tally = &tally;
  caller->leaves = leaves;
  return caller;
}

TEST(QueuedThreads, ServesExactlyABurstToManyThreads) {
  constexpr uint32_t kBurst = 30'000;
  constexpr int kThreads = 4, kEach = 10'000;
  const ManualClock clock(TimePoint(std::chrono::hours(1)));
  const auto rules = QueuedRules::Make(
      {{.path = "/a", .rate = 10, .algorithm = Algorithm::kTokenBucket, .max_queue_size = 0, .burst_size = kBurst}});
  QueuedLimiter limiter({.rules = rules.value()}, clock);
  Tally tally;
  OnThreads(kThreads, [&](int) {
    const auto caller = CallerOf(limiter, tally, false);
    for (int i = 0; i < kEach; ++i) limiter.Take({.path = "/a"}, caller);
  });
  limiter.Tick();
  EXPECT_EQ(tally.served, kBurst);
  EXPECT_EQ(tally.answered, uint64_t{kThreads} * kEach);
}

TEST(QueuedThreads, LosesNoCallerWhileTheyComeWaitLeaveAndRulesChange) {
  constexpr int kThreads = 4, kEach = 3'000;
  ManualClock clock(TimePoint(std::chrono::hours(1)));
  const auto rules = [](int version) {
    const auto kind = static_cast<size_t>(version);
    return QueuedRules::Make({{.path = "/a",
                               .rate = 50,
                               .scheduler = static_cast<Scheduler>(kind % 4),
                               .algorithm = static_cast<Algorithm>(kind / 2 % 4),
                               .max_queue_size = 20,
                               .overflow = static_cast<EndpointConfig::Overflow>(kind % 2),
                               .tokens_per_window = 30},
                              {.path = kind % 3 == 0 ? "/b" : "/a/b/c", .rate = 100}},
                             5)
        .value();
  };
  QueuedLimiter limiter(
      {.rules = rules(0), .events = std::make_shared<QueuedEvents>(64), .idle_after = milliseconds(500), .shards = 3},
      clock);
  Tally tally;
  OnThreads(kThreads, [&](int thread) {
    for (int i = 0; i < kEach; ++i) {
      static constexpr std::array<std::string_view, 7> kPaths = {"/a", "/a/1", "/a/2",  "/a/b/c",
                                                                 "/b", "/b/5", "/a/b/6"};
      limiter.Take({.path = kPaths[static_cast<size_t>(i + thread) % kPaths.size()],
                    .priority = i % 3,
                    .tokens = static_cast<uint64_t>(i % 9)},
                   CallerOf(limiter, tally, i % 3 == 0));
      if (thread == 0 && i % 20 == 0) clock.Advance(milliseconds(50)), limiter.Tick();
      if (thread == 1 && i % 100 == 0) limiter.SetRules(rules(i / 100));
      if (thread == 2 && i % 100 == 0) limiter.DescribeAll([](const std::vector<EndpointState>&) {});
    }
  });
  limiter.SetRules(rules(0));
  for (int i = 0; i < 500; ++i) {
    clock.Advance(milliseconds(50));
    limiter.Tick();
  }
  const QueuedCounts counts = limiter.Counts();
  EXPECT_EQ(tally.answered + counts.left, uint64_t{kThreads} * kEach);
  EXPECT_EQ(counts.served, tally.served);
  EXPECT_EQ(counts.served + counts.rejected, tally.answered);
  EXPECT_EQ(counts.waiting, 0u);
  EXPECT_EQ(counts.dynamic, 0u);
}

TEST(QueuedThreads, ServesWaitersByItself) {
  struct Promising : QueuedCaller {
    void OnAnswer(const QueuedAnswer& answer) override { code.set_value(answer.code); }
    std::promise<QueuedCode> code;
  };
  QueuedLimiter limiter({.rules = QueuedRules::Make({{.path = "/a", .rate = 1000}}).value()});
  for (int i = 0; i < 20; ++i) {
    const auto caller = std::make_shared<Promising>();
    limiter.Take({.path = "/a"}, caller);
    EXPECT_EQ(caller->code.get_future().get(), QueuedCode::kServed);
  }
}

TEST(QueuedThreads, AnswersAllWaitersWhenItEnds) {
  Tally tally;
  {
    QueuedLimiter limiter(
        {.rules = QueuedRules::Make({{.path = "/a", .rate = 0.001, .max_queue_size = 5000}}).value()});
    OnThreads(2, [&](int) {
      for (int i = 0; i < 2000; ++i) limiter.Take({.path = "/a"}, CallerOf(limiter, tally, false));
    });
  }
  EXPECT_EQ(tally.answered, 4000u);
  EXPECT_EQ(tally.served, 1u);
}

}  // namespace
}  // namespace weir
