#include <atomic>
#include <future>
#include <mutex>
#include <thread>

#include "tests/fixtures/eventually.h"
#include "tests/throttle/limits/keyed/keyed_fixture.h"

namespace weir {
namespace {

struct CountingCaller : KeyedCaller {
  void OnAnswer(const KeyedAnswer& answer) override {
    if (answer.code == KeyedCode::kGranted) ++granted;
    ++answered;
  }
  std::atomic<uint64_t> granted{0};
  std::atomic<uint64_t> answered{0};
};

void OnThreads(int threads, const std::function<void(int)>& what) {
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) running.emplace_back(what, i);
  for (std::thread& thread : running) thread.join();
}

TEST(KeyedThreads, GrantsOneKeyExactlyItsLimitToManyThreads) {
  constexpr uint32_t kLimit = 30'000;
  constexpr int kThreads = 4, kEach = 10'000;
  const ManualClock clock(TimePoint(std::chrono::hours(1)));
  KeyedLimiter limiter({.rules = std::make_shared<KeyedRules>(KeyedLimits{.max_requests = kLimit})}, clock);
  const auto caller = std::make_shared<CountingCaller>();
  OnThreads(kThreads, [&](int) {
    for (int i = 0; i < kEach; ++i) limiter.Take({.key = "one"}, caller);
  });
  limiter.Tick();
  EXPECT_EQ(caller->granted, kLimit);
  EXPECT_EQ(caller->answered, uint64_t{kThreads} * kEach);
}

TEST(KeyedThreads, LosesNoCallerWhileTheyComeWaitLeaveAndGiveBack) {
  constexpr int kThreads = 4, kEach = 3'000;
  ManualClock clock(TimePoint(std::chrono::hours(1)));
  KeyedLimiter limiter(
      {.rules = std::make_shared<KeyedRules>(KeyedLimits{.max_requests = 5, .max_waiting = 50}), .shards = 2}, clock);
  // Leaves while it waits, or gives its grant back.
  struct Caller : KeyedCaller {
    void OnWaiting(KeyedTicket ticket) override {
      if (leaves) limiter->Leave(key, ticket);
    }
    void OnAnswer(const KeyedAnswer& answer) override {
      ++*answered;
      if (answer.code == KeyedCode::kGranted) limiter->GiveBack(key, answer.grant, [](bool) {});
    }
    KeyedLimiter* limiter;
    std::string key;
    bool leaves;
    std::atomic<uint64_t>* answered;
  };
  std::atomic<uint64_t> answered{0};
  OnThreads(kThreads, [&](int thread) {
    for (int i = 0; i < kEach; ++i) {
      const auto caller = std::make_shared<Caller>();
      caller->limiter = &limiter;
      caller->key = std::string("key-") + static_cast<char>('0' + (i + thread) % 7);
      caller->leaves = i % 3 == 0;
      caller->answered = &answered;
      limiter.Take({.key = caller->key, .may_wait = true}, caller);
      if (thread == 0 && i % 50 == 0) {
        clock.Advance(std::chrono::milliseconds(300));
        limiter.Tick();
      }
    }
  });
  for (int i = 0; i < 100; ++i) {
    clock.Advance(std::chrono::milliseconds(300));
    limiter.Tick();
  }
  const KeyedCounts counts = limiter.Counts();
  EXPECT_EQ(answered + counts.left, uint64_t{kThreads} * kEach);
  EXPECT_EQ(counts.granted + counts.refused, answered);
  EXPECT_EQ(counts.waiting, 0u);
  EXPECT_EQ(counts.keys, 0u);
}

TEST(KeyedThreads, AnswersEachPageOnceWhileOthersAreAtTheShards) {
  constexpr size_t kKeys = 300;
  const ManualClock clock(TimePoint(std::chrono::hours(1)));
  KeyedLimiter limiter({.shards = 5}, clock);
  const auto caller = std::make_shared<CountingCaller>();
  for (size_t i = 0; i < kKeys; ++i) limiter.Take({.key = std::to_string(i)}, caller);
  std::atomic<bool> stop{false};
  std::thread others([&] {
    while (!stop)
      for (size_t i = 0; i < kKeys; ++i) limiter.Take({.key = std::to_string(i)}, caller);
  });
  for (int walk = 0; walk < 200; ++walk) {
    size_t keys = 0;
    for (std::optional<PagePlace> place = PagePlace(); place;) {
      std::promise<Page<KeyState>> told;
      limiter.DescribePage(*place, [&](Page<KeyState> page) { told.set_value(std::move(page)); });
      const Page<KeyState> page = told.get_future().get();
      keys += page.states().size();
      place = page.next();
    }
    EXPECT_EQ(keys, kKeys);
  }
  stop = true;
  others.join();
}

TEST(KeyedThreads, GrantsWaitersByItself) {
  struct Promising : KeyedCaller {
    void OnAnswer(const KeyedAnswer& answer) override { code.set_value(answer.code); }
    std::promise<KeyedCode> code;
  };
  KeyedLimiter limiter(
      {.rules = std::make_shared<KeyedRules>(KeyedLimits{.window = std::chrono::milliseconds(5), .max_requests = 1})});
  for (int i = 0; i < 20; ++i) {
    const auto caller = std::make_shared<Promising>();
    limiter.Take({.key = "a", .may_wait = true}, caller);
    EXPECT_EQ(caller->code.get_future().get(), KeyedCode::kGranted);
  }
}

// Answers on a thread of its own.
class ElsewhereWindows final : public SharedWindows {
 public:
  ElsewhereWindows() : thread_([this](const std::stop_token& stop) { Run(stop); }) {}
  ~ElsewhereWindows() override {
    thread_ = {};
    for (const auto& [wish, done] : asked_) done({});
  }

  void Ask(const LeaseWish& wish, std::function<void(const LeaseAnswer&)> done) override {
    const std::lock_guard lock(mutex_);
    asked_.emplace_back(wish, std::move(done));
  }
  SharedWindowsHealth Health() const override { return {}; }

 private:
  void Run(const std::stop_token& stop) {
    uint32_t used = 0;
    while (!stop.stop_requested()) {
      std::vector<std::pair<LeaseWish, std::function<void(const LeaseAnswer&)>>> asked;
      {
        const std::lock_guard lock(mutex_);
        asked.swap(asked_);
      }
      for (const auto& [wish, done] : asked) {
        const uint32_t granted = std::min(wish.grants, wish.limit - used);
        used += granted;
        done({.answered = true, .window = 1, .granted = granted, .used = used, .remaining = std::chrono::seconds(1)});
      }
      std::this_thread::yield();
    }
  }

  std::mutex mutex_;
  std::vector<std::pair<LeaseWish, std::function<void(const LeaseAnswer&)>>> asked_;
  std::jthread thread_;
};

TEST(KeyedThreads, SpendLeasesThatComeFromAnotherThread) {
  constexpr uint32_t kLimit = 1600;
  constexpr int kThreads = 4, kEach = 1000;
  const ManualClock clock(TimePoint(std::chrono::hours(1)));
  KeyedLimiter limiter({.rules = std::make_shared<KeyedRules>(KeyedLimits{.max_requests = kLimit})}, clock,
                       std::make_unique<ElsewhereWindows>());
  const auto caller = std::make_shared<CountingCaller>();
  OnThreads(kThreads, [&](int) {
    for (int i = 0; i < kEach; ++i) limiter.Take({.key = "one"}, caller);
  });
  EXPECT_TRUE(Eventually([&] {
    limiter.Tick();
    return caller->answered == uint64_t{kThreads} * kEach;
  }));
  EXPECT_EQ(caller->granted, kLimit);
  EXPECT_EQ(limiter.Counts().leased, kLimit);
}

}  // namespace
}  // namespace weir
