// Resets that the server does in several parts.
#include <gtest/gtest.h>
#include <hiredis/hiredis.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "config/manual_clock.h"
#include "config/wire/redis/redis_call.h"
#include "tests/fixtures/listening_socket.h"
#include "tests/throttle/limits/quota/redis/deciders.h"

namespace weir {
namespace {

constexpr WallTime kNow{std::chrono::seconds(1'771'597'921)};

// PartialResets: answers like a Redis that has one model. Its answer to each script is how many parts of the reset are
// left. A real server needs parts if more than a thousand reservations are open, and if one of them was made after the
// keys of all models had been deleted.
class PartialResets {
 public:
  explicit PartialResets(int parts) : left_(parts) {}
  ~PartialResets() { ::shutdown(listener_.socket(), SHUT_RDWR); }
  PartialResets(const PartialResets&) = delete;
  PartialResets& operator=(const PartialResets&) = delete;

  std::string url() const { return "redis://127.0.0.1:" + std::to_string(listener_.port()); }
  int left() const { return left_; }

 private:
  void Run() {
    for (int client = 0; (client = ::accept(listener_.socket(), nullptr, nullptr)) >= 0; ::close(client)) Serve(client);
  }
  void Serve(int client) {
    const std::unique_ptr<redisReader, decltype(&redisReaderFree)> reader(redisReaderCreate(), &redisReaderFree);
    std::array<char, 4096> bytes{};
    for (ssize_t got = 0; (got = ::read(client, bytes.data(), bytes.size())) > 0;) {
      redisReaderFeed(reader.get(), bytes.data(), static_cast<size_t>(got));
      for (void* command = nullptr; redisReaderGetReply(reader.get(), &command) == REDIS_OK && command != nullptr;) {
        const RedisReply words(static_cast<redisReply*>(command));
        const std::string answer = AnswerTo(TextOf(*words->element[0]));
        EXPECT_EQ(::send(client, answer.data(), answer.size(), MSG_NOSIGNAL), static_cast<ssize_t>(answer.size()));
      }
    }
  }
  std::string AnswerTo(std::string_view command) {
    if (command == "ZRANGE") return "*2\r\n$11\r\nweir:{o1}:m\r\n$3\r\ninf\r\n";
    if (command == "EVALSHA") return ":" + std::to_string(--left_) + "\r\n";
    return "+OK\r\n";
  }

  const ListeningSocket listener_{8};
  std::atomic<int> left_;
  std::jthread thread_{[this] { Run(); }};
};

TEST(RedisReset, IsRepeatedUntilNothingIsLeft) {
  const ManualWallClock clock(kNow);
  const std::vector<std::function<Status(QuotaStore&)>> ways = {
      [](QuotaStore& store) { return store.Reset("o1"); },
      [](QuotaStore& store) { return store.Reset(""); },
      [](QuotaStore& store) {
        return store.Import({{"o1", {.quota = ModelQuota{.max_rpm = 5}}}});
      },
  };
  for (const auto& reset : ways) {
    PartialResets server(3);
    const auto store = OpenRedis(server.url(), clock);
    const Status done = reset(*store);
    EXPECT_TRUE(done.ok()) << done.message();
    EXPECT_EQ(server.left(), 0);
  }
}

}  // namespace
}  // namespace weir
