// A server that accepts connections and closes them at once: how often the store tries it.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "config/wire/redis/redis_topology.h"
#include "tests/fixtures/listening_socket.h"
#include "tests/fixtures/redis_client.h"
#include "tests/throttle/limits/quota/redis/deciders.h"

namespace weir {
namespace {

class ClosingServer {
 public:
  ClosingServer() {
    thread_ = std::thread([this] {
      for (int client = 0; (client = ::accept4(listener_.socket(), nullptr, nullptr, SOCK_CLOEXEC)) >= 0; ++attempts_)
        ::close(client);
    });
  }
  ~ClosingServer() {
    ::shutdown(listener_.socket(), SHUT_RDWR);
    thread_.join();
  }
  ClosingServer(const ClosingServer&) = delete;
  ClosingServer& operator=(const ClosingServer&) = delete;

  std::string address() const { return "127.0.0.1:" + std::to_string(listener_.port()); }
  int attempts() const { return attempts_; }

 private:
  const ListeningSocket listener_{64};
  std::atomic<int> attempts_{0};
  std::thread thread_;
};

// The pauses double. A slow machine can only make them longer.
TEST(RedisBackoff, EachAttemptWaitsTwiceAsLongAsTheOneBefore) {
  using std::chrono::milliseconds;
  constexpr milliseconds kFirst{10};
  constexpr int kAttempts = 6;
  for (const std::string scheme : {"redis://", "redis-cluster://", "redis-sentinel://"}) {
    SCOPED_TRACE(scheme);
    ClosingServer server;
    const auto begin = std::chrono::steady_clock::now();
    const auto store = OpenRedis(scheme + server.address() + (scheme == "redis-sentinel://" ? "/main" : ""),
                                 {.timeout = std::chrono::seconds(20), .retry_first = kFirst});
    EXPECT_FALSE(store->Models().ok());
    ASSERT_TRUE(Eventually([&] { return server.attempts() >= kAttempts; }));
    EXPECT_GE(std::chrono::steady_clock::now() - begin, ((1 << (kAttempts - 1)) - 1) * kFirst);
  }
}

// The search for a map is repeated again and again, but the node is only connected to when its breaker allows it.
TEST(RedisBackoff, AClusterNodeThatIsAwayIsNotTriedForEachMap) {
  ClosingServer server;
  const RedisEndpoint endpoint = ParseRedisUrl("redis-cluster://" + server.address()).value();
  RedisServerOptions options;
  options.timeout = std::chrono::minutes(1);
  options.retry_first = options.retry_longest = std::chrono::hours(1);
  RedisLoop loop;
  std::unique_ptr<RedisTopology> topology;
  loop.Call([&] { topology = MakeClusterTopology(loop, endpoint, options); });
  for (int round = 0; round < 20; ++round) {
    std::promise<Status> found;
    loop.Call([&] {
      topology->FindMasters(loop.Now() + options.timeout,
                            [&](const Result<RedisTopology::Servers>& servers) { found.set_value(servers.status()); });
    });
    EXPECT_FALSE(found.get_future().get().ok());
  }
  EXPECT_EQ(server.attempts(), 1);
  loop.Call([&] { topology.reset(); });
}

}  // namespace
}  // namespace weir
