// RedisSharedWindows against a real redis-server. Windows are so long that none ends during a test.
#include "throttle/limits/keyed/redis/redis_shared_windows.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/config/wire/redis/reply_of.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/redis_process.h"
#include "tests/throttle/limits/quota/redis/cluster_servers.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Waits long, because here a server is only away if it was killed.
RedisSharedWindowsOptions Patient() { return {.client = {.timeout = seconds(20), .connect_timeout = seconds(20)}}; }

LeaseAnswer Lease(SharedWindows& windows, const LeaseWish& wish) {
  std::promise<LeaseAnswer> answer;
  windows.Ask(wish, [&](const LeaseAnswer& given) { answer.set_value(given); });
  return answer.get_future().get();
}

class RedisSharedWindowsTest : public testing::Test {
 protected:
  std::unique_ptr<RedisSharedWindows> Open(RedisSharedWindowsOptions options = Patient()) {
    return std::make_unique<RedisSharedWindows>(ParseRedisUrl(server_.url()).value(), std::move(options));
  }
  // Returns a window that is not about to end.
  milliseconds Window() {
    const RedisAnswer time = server_.Command({"TIME"});
    const seconds now(std::stoll(time.items.at(0).text));
    const milliseconds window = hours(24 * 31);
    return now % window < window - hours(1) ? window : window - hours(24);
  }
  LeaseWish Wish(std::string_view key, uint32_t limit, uint32_t grants) {
    return {.key = key, .window = window_, .limit = limit, .grants = grants};
  }
  std::string KeyOf(const std::string& escaped) const {
    return "weir:keyed:{" + escaped + "}:" + std::to_string(window_.count());
  }

  RedisProcess server_;
  const milliseconds window_ = Window();
};

TEST_F(RedisSharedWindowsTest, LeasesUpToTheLimitOfAWindow) {
  const auto windows = Open();
  const LeaseAnswer first = Lease(*windows, Wish("a", 10, 4));
  EXPECT_TRUE(first.answered);
  EXPECT_EQ(first.granted, 4u);
  EXPECT_EQ(first.used, 4u);
  EXPECT_GT(first.remaining, hours(1) - seconds(60));
  EXPECT_LE(first.remaining, window_);
  const LeaseAnswer second = Lease(*windows, Wish("a", 10, 9));
  EXPECT_EQ(second.window, first.window);
  EXPECT_EQ(second.granted, 6u);
  EXPECT_EQ(Lease(*windows, Wish("a", 10, 1)).granted, 0u);
  EXPECT_EQ(Lease(*windows, Wish("a", 5, 1)).granted, 0u) << "of a limit that is lower";
  EXPECT_EQ(Lease(*windows, Wish("a", 11, 5)).granted, 1u);
  EXPECT_EQ(Lease(*windows, Wish("b", 10, 1)).used, 1u);
}

TEST_F(RedisSharedWindowsTest, BeginsAnewWithTheNextWindow) {
  const auto windows = Open();
  const LeaseWish wish{.key = "a", .window = milliseconds(100), .limit = 1, .grants = 1};
  const LeaseAnswer first = Lease(*windows, wish);
  EXPECT_EQ(first.granted, 1u);
  LeaseAnswer next = first;
  ASSERT_TRUE(Eventually([&] {
    next = Lease(*windows, wish);
    return next.window != first.window;
  }));
  EXPECT_GT(next.window, first.window);
  EXPECT_EQ(next.granted, 1u);
}

TEST_F(RedisSharedWindowsTest, LeasesExactlyTheLimitToSeveralClients) {
  constexpr uint32_t kLimit = 1000;
  std::vector<std::unique_ptr<RedisSharedWindows>> windows;
  for (int i = 0; i < 3; ++i) windows.push_back(Open());
  std::atomic<uint32_t> granted{0};
  std::vector<std::thread> threads;
  for (const auto& one : windows) {
    threads.emplace_back([&] {
      for (uint32_t i = 0; i < 200; ++i) granted += Lease(*one, Wish("a", kLimit, i % 7 + 1)).granted;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(granted, kLimit);
}

TEST_F(RedisSharedWindowsTest, KeepsOneExpiringKeyForEachName) {
  const auto windows = Open();
  for (const char* name : {"a", "a}:1", "{b}", "a b", "\n", "ü", "weir:keyed:{a}", "%7B"})
    EXPECT_EQ(Lease(*windows, Wish(name, 9, 1)).used, 1u) << name;
  EXPECT_EQ(Lease(*windows, Wish(std::string(512, '}'), 9, 1)).used, 1u);
  EXPECT_EQ(server_.Command({"DBSIZE"}).integer, 9);
  EXPECT_EQ(server_.Command({"EXISTS", KeyOf("a"), KeyOf("a%7D%3A1"), KeyOf("%257B")}).integer, 3);
  const RedisAnswer keys = server_.Command({"KEYS", "*"});
  for (const std::string& key : keys.texts()) {
    const int64_t left = server_.Command({"PTTL", key}).integer;
    EXPECT_GT(left, 0) << key;
    EXPECT_LE(left, window_.count() + 1000) << key;
  }
  Lease(*windows, Wish("none", 0, 1));
  EXPECT_EQ(server_.Command({"DBSIZE"}).integer, 9) << "nothing was leased";
}

TEST_F(RedisSharedWindowsTest, LetsAWindowRunOnWhenTheClockStepsBackALittle) {
  const auto windows = Open();
  const int64_t window = Lease(*windows, Wish("a", 10, 1)).window;
  const auto set = [&](int64_t number) { server_.Command({"SET", KeyOf("a"), std::to_string(number) + " 7"}); };
  set(window + 1);  // written in a later window than now
  const LeaseAnswer later = Lease(*windows, Wish("a", 10, 1));
  EXPECT_EQ(later.window, window + 1);
  EXPECT_EQ(later.used, 8u);
  EXPECT_GT(later.remaining, window_);
  set(window + 2);
  EXPECT_EQ(Lease(*windows, Wish("a", 10, 1)).window, window);
  EXPECT_EQ(Lease(*windows, Wish("a", 10, 1)).used, 2u);
  set(window - 1);
  EXPECT_EQ(Lease(*windows, Wish("a", 10, 1)).used, 1u);
}

TEST_F(RedisSharedWindowsTest, ReportsAForeignKeyOfAnotherType) {
  const auto windows = Open();
  server_.Command({"SET", KeyOf("text"), "hello"});
  server_.Command({"LPUSH", KeyOf("list"), "hello"});
  for (const char* key : {"text", "list"}) {
    EXPECT_FALSE(Lease(*windows, Wish(key, 9, 1)).answered);
    EXPECT_NE(windows->Health().problem.find("WRONGTYPE"), std::string::npos) << windows->Health().problem;
  }
}

TEST_F(RedisSharedWindowsTest, SaysWhenItIsAwayAndWhenItIsBack) {
  std::mutex mutex;
  std::vector<std::string> heard;
  RedisSharedWindowsOptions options = Patient();
  options.client.retry_first = options.client.retry_longest = milliseconds(10);
  options.on_change = [&](const std::string& problem) {
    const std::lock_guard lock(mutex);
    heard.push_back(problem);
  };
  const auto windows = Open(options);
  EXPECT_EQ(Lease(*windows, Wish("a", 10, 3)).granted, 3u);
  EXPECT_TRUE(windows->Health().answers);
  server_.Kill();
  while (Lease(*windows, Wish("a", 10, 1)).answered) {
  }
  EXPECT_FALSE(windows->Health().answers);
  EXPECT_NE(windows->Health().problem.find(server_.address()), std::string::npos) << windows->Health().problem;
  server_.Start();
  EXPECT_TRUE(Eventually([&] { return windows->Health().answers; }));
  EXPECT_EQ(Lease(*windows, Wish("a", 10, 3)).granted, 3u) << "scripts are loaded again";
  EXPECT_GE(windows->Health().failures, 1u);
  const std::lock_guard lock(mutex);
  ASSERT_EQ(heard.size() % 2, 0u);
  EXPECT_FALSE(heard.front().empty());
  EXPECT_TRUE(heard.back().empty());
}

TEST_F(RedisSharedWindowsTest, AnswersPendingRequestsWhenItEnds) {
  auto windows = Open();
  Lease(*windows, Wish("a", 10, 1));
  server_.Pause();
  std::atomic<int> answered{0};
  for (int i = 0; i < 10; ++i) windows->Ask(Wish("a", 10, 1), [&](const LeaseAnswer&) { ++answered; });
  windows.reset();
  EXPECT_EQ(answered, 10);
  server_.Resume();
}

TEST(RedisSharedWindowsCluster, FindsTheNodeOfEachKey) {
  ClusterServers cluster;
  RedisSharedWindows windows(ParseRedisUrl(cluster.url()).value(), Patient());
  for (int i = 0; i < 50; ++i) {
    const LeaseAnswer answer =
        Lease(windows, {.key = "key-" + std::to_string(i), .window = hours(24), .limit = 5, .grants = 9});
    EXPECT_TRUE(answer.answered) << windows.Health().problem;
    EXPECT_EQ(answer.granted, 5u);
  }
}

TEST(RedisLease, RefusesAnswersThatTheScriptDoesNotGive) {
  const LeaseWish wish{.key = "key", .window = seconds(1), .limit = 10, .grants = 5};
  const auto is_one = [&](const std::string& numbers) { return ParseLease(*ReplyOf(numbers), wish).has_value(); };
  EXPECT_TRUE(is_one("*4\r\n:0\r\n:5\r\n:5\r\n:2000000\r\n"));
  EXPECT_FALSE(is_one("*4\r\n:0\r\n:6\r\n:6\r\n:1\r\n")) << "more than was wished for";
  EXPECT_FALSE(is_one("*4\r\n:0\r\n:5\r\n:4\r\n:1\r\n")) << "less used than granted";
  EXPECT_FALSE(is_one("*4\r\n:0\r\n:5\r\n:5\r\n:2000001\r\n")) << "longer than two windows";
  EXPECT_FALSE(is_one("*4\r\n:0\r\n:5\r\n:5\r\n:9223372036854775807\r\n"));
  EXPECT_FALSE(is_one("*4\r\n:0\r\n:5\r\n:5\r\n$1\r\n1\r\n")) << "a text";
  EXPECT_FALSE(is_one("*3\r\n:0\r\n:5\r\n:5\r\n"));
}

}  // namespace
}  // namespace weir
