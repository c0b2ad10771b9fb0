#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <thread>

#include "config/manual_clock.h"
#include "tests/throttle/limits/quota/scripted_store.h"
#include "throttle/limits/quota/memory_store.h"
#include "throttle/limits/quota/quota_limiter.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using Call = QuotaObserver::Call;

// A time that passes only by sleeping.
class VirtualTime final : public Sleeper {
 public:
  void Sleep(Duration d, const std::stop_token&) override {
    slept.push_back(d);
    clock.Advance(d);
    wall.Advance(d);
    if (on_sleep) on_sleep();
  }

  ManualClock clock;
  ManualWallClock wall{WallTime(std::chrono::seconds(1'771'597'921))};
  std::vector<Duration> slept;
  std::function<void()> on_sleep;
};

class WaitForCapacity : public testing::Test {
 protected:
  VirtualTime time_;
  MemoryQuotaStore store_{{}, time_.wall};
  QuotaLimiter limiter_{
      store_, {.quotas = {{"m", {.max_rpm = 2, .max_tpm = 1000, .max_rpd = 4}}}}, time_.clock, nullptr, time_};
};

TEST_F(WaitForCapacity, ThereIsRoom) {
  EXPECT_TRUE(limiter_.WaitForCapacity({.model = "m", .tokens = 1}).allowed);
  EXPECT_TRUE(time_.slept.empty());
  EXPECT_EQ(limiter_.Stats("m").value().usage.rpm, 1);
}

TEST_F(WaitForCapacity, SleepsToThePoint) {
  limiter_.Take({.model = "m", .tokens = 1});
  time_.Sleep(20s, {});
  limiter_.Take({.model = "m", .tokens = 1});
  time_.slept.clear();
  const Decision d = limiter_.WaitForCapacity({.model = "m", .tokens = 1});
  EXPECT_TRUE(d.allowed);
  EXPECT_EQ(time_.slept, (std::vector<Duration>{40s}));
  EXPECT_EQ(limiter_.Stats("m").value().usage.rpm, 2) << "the first has left, and this one is charged";
}

TEST_F(WaitForCapacity, AsksAgainWhenAnotherCallerWasFaster) {
  for (int i = 0; i < 2; ++i) limiter_.Take({.model = "m", .tokens = 1});
  bool first = true;
  time_.on_sleep = [&] {
    if (!std::exchange(first, false)) return;
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(limiter_.Take({.model = "m", .tokens = 1}).allowed);
  };
  EXPECT_TRUE(limiter_.WaitForCapacity({.model = "m", .tokens = 1}).allowed);
  // After the first minute the day is full as well.
  EXPECT_EQ(time_.slept, (std::vector<Duration>{60s, 24h - 60s}));
}

TEST_F(WaitForCapacity, DoesNotSleepWhenTheDeadlineIsBeforeTheNextTry) {
  for (int i = 0; i < 2; ++i) limiter_.Take({.model = "m", .tokens = 1});
  const Decision d = limiter_.WaitForCapacity({.model = "m", .tokens = 1}, time_.clock.Now() + 60s - 1ns);
  EXPECT_FALSE(d.allowed);
  EXPECT_EQ(d.code, QuotaCode::kRpmExceeded);
  EXPECT_EQ(d.retry_after, Duration(60s));
  EXPECT_TRUE(time_.slept.empty());
  EXPECT_TRUE(limiter_.WaitForCapacity({.model = "m", .tokens = 1}, time_.clock.Now() + 60s).allowed);
}

TEST_F(WaitForCapacity, DoesNotWaitForRequestsThatNeverFit) {
  const Decision d = limiter_.WaitForCapacity({.model = "m", .tokens = 1001});
  EXPECT_EQ(d.code, QuotaCode::kTooLarge);
  EXPECT_EQ(limiter_.WaitForCapacity({.model = "m", .tokens = -1}).code, QuotaCode::kInvalidTokens);
  EXPECT_TRUE(time_.slept.empty());
}

TEST_F(WaitForCapacity, EndsWhenItIsStopped) {
  for (int i = 0; i < 2; ++i) limiter_.Take({.model = "m", .tokens = 1});
  std::stop_source stop;
  time_.on_sleep = [&] { stop.request_stop(); };
  const Decision d = limiter_.WaitForCapacity({.model = "m", .tokens = 1}, {}, stop.get_token());
  EXPECT_FALSE(d.allowed);
  EXPECT_EQ(d.code, QuotaCode::kRpmExceeded);
  EXPECT_EQ(time_.slept.size(), 1U);
  EXPECT_FALSE(limiter_.WaitForCapacity({.model = "m", .tokens = 1001}, {}, stop.get_token()).allowed);
}

TEST_F(WaitForCapacity, ReservesOrOnlyAsks) {
  const Decision d = limiter_.WaitForCapacity({.model = "m", .tokens = 1}, {}, {}, Call::kReserve);
  EXPECT_TRUE(limiter_.Refund(d.reservation).ok());
  EXPECT_TRUE(limiter_.WaitForCapacity({.model = "m", .tokens = 1}, {}, {}, Call::kDecide).allowed);
  EXPECT_EQ(limiter_.Stats("m").value().usage.rpm, 0);
}

TEST(SystemSleeper, ReturnsWhenTheTokenIsStopped) {
  std::stop_source stop;
  std::thread sleeps([&] { Sleeper::System().Sleep(24h, stop.get_token()); });
  stop.request_stop();
  sleeps.join();
  Sleeper::System().Sleep(24h, stop.get_token());
  Sleeper::System().Sleep(1ms, {});
}

TEST(SystemSleeper, SleepsAlsoBeyondTheLastMomentOfItsClock) {
  ScriptedStore store;
  const ChargeAnswer refused{.code = QuotaCode::kTpmExceeded, .retry_after = Duration::max()};
  store.answers = {refused, refused};
  QuotaLimiter limiter(store);
  EXPECT_FALSE(limiter.WaitForCapacity({.model = "m", .tokens = 1}, Clock::System().Now() + 24h).allowed);
  EXPECT_EQ(store.asked.size(), 1U);
  std::stop_source stop;
  const std::jthread stops([&] {
    std::this_thread::sleep_for(20ms);
    stop.request_stop();
  });
  // If it asked once more, the store would admit it.
  EXPECT_EQ(limiter.WaitForCapacity({.model = "m", .tokens = 1}, {}, stop.get_token()).code, QuotaCode::kTpmExceeded);
  EXPECT_EQ(store.asked.size(), 2U);
}

TEST(BackgroundPrune, PrunesUntilItIsStopped) {
  ScriptedStore store;
  VirtualTime time;
  QuotaLimiter limiter(store, {}, time.clock, nullptr, time);
  std::promise<void> thrice;
  int sleeps = 0;
  time.on_sleep = [&] {
    if (++sleeps == 4) thrice.set_value();
    if (sleeps >= 4) std::this_thread::yield();
  };
  std::jthread pruner = limiter.BackgroundPrune(30s);
  thrice.get_future().wait();
  pruner.request_stop();
  pruner.join();
  EXPECT_GE(store.pruned, 3);
  EXPECT_EQ(time.slept.front(), Duration(30s));
}

}  // namespace
}  // namespace weir
