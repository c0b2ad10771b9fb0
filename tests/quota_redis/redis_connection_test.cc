// One connection, one server: written together, answered in order, exactly once.
#include "throttle/quota/redis/redis_connection.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/quota_redis/redis_process.h"
#include "throttle/quota/redis/redis_server.h"

namespace weir {
namespace {

constexpr std::chrono::seconds kPatience{60};

// A loop with one server on it.
class RedisServerTest : public testing::Test {
 protected:
  ~RedisServerTest() override { Leave(); }

  void Go(std::vector<RedisAddress> addresses) {
    loop_.Call([&] { server_ = std::make_unique<RedisServer>(loop_, std::move(addresses), options_, nullptr); });
  }
  void Leave() {
    loop_.Call([&] { server_.reset(); });
  }
  static RedisAddress AddressOf(const RedisProcess& process) { return {.host = "127.0.0.1", .port = process.port()}; }

  RedisCallPtr CallOf(std::initializer_list<std::string_view> words, Duration patience = kPatience) {
    auto call = std::make_unique<RedisCall>();
    call->command = FormatRedisCommand(words);
    call->deadline = loop_.Now() + patience;
    call->done = [this](const RedisOutcome& outcome) {
      if (outcome.answered()) {
        const redisReply& reply = *outcome.reply;
        answers_.push_back(reply.type == REDIS_REPLY_INTEGER ? std::to_string(reply.integer)
                                                             : std::string(TextOf(reply)));
      } else {
        problems_.push_back((outcome.sent ? "sent: " : "not sent: ") + outcome.problem);
      }
    };
    return call;
  }
  size_t Done() {
    size_t done = 0;
    loop_.Call([&] { done = answers_.size() + problems_.size(); });
    return done;
  }
  bool AllDone(size_t count) {
    return Eventually([&] { return Done() >= count; });
  }

  RedisServerOptions options_{.connection = {.connect_timeout = kPatience, .silence = kPatience}, .timeout = kPatience};
  std::vector<std::string> answers_;
  std::vector<std::string> problems_;
  RedisLoop loop_;
  std::unique_ptr<RedisServer> server_;
};

TEST_F(RedisServerTest, AnswersInTheOrderInWhichItWasAsked) {
  RedisProcess process;
  Go({AddressOf(process)});
  loop_.Call([&] {
    for (int i = 1; i <= 1000; ++i) server_->Send(CallOf({"INCR", "n"}));
  });
  ASSERT_TRUE(AllDone(1000));
  EXPECT_TRUE(problems_.empty());
  for (size_t i = 0; i < answers_.size(); ++i) ASSERT_EQ(answers_[i], std::to_string(i + 1));
}

TEST_F(RedisServerTest, WritesTogetherWhatATurnHasGivenIt) {
  RedisProcess process;
  Go({AddressOf(process)});
  loop_.Call([&] { server_->Send(CallOf({"PING"})); });
  ASSERT_TRUE(AllDone(1));
  uint64_t writes = 0;
  loop_.Call([&] {
    writes = server_->writes();
    for (int i = 0; i < 500; ++i) server_->Send(CallOf({"INCR", "n"}));
  });
  ASSERT_TRUE(AllDone(501));
  loop_.Call([&] { writes = server_->writes() - writes; });
  EXPECT_LE(writes, 5);  // one, but where the socket was full
}

TEST_F(RedisServerTest, TakesTheFirstAddressThatAnswers) {
  RedisProcess process;
  RedisProcess gone;
  gone.Stop();
  Go({AddressOf(gone), AddressOf(process)});
  loop_.Call([&] { server_->Send(CallOf({"PING"})); });
  ASSERT_TRUE(AllDone(1));
  EXPECT_EQ(answers_, std::vector<std::string>{"PONG"});
}

// The first of a host's addresses takes connections and says nothing, as one behind a dead router does in the end.
TEST_F(RedisServerTest, GoesOnToTheNextAddressOfAHostWhoseFirstIsDead) {
  RedisProcess process;
  RedisProcess dead;
  dead.Pause();
  options_.connection.connect_timeout = std::chrono::milliseconds(300);
  options_.retry_first = options_.retry_longest = std::chrono::milliseconds(10);
  options_.connection.resolve = [&](const std::string& host, uint16_t) {
    EXPECT_EQ(host, "quota.example");
    auto addresses = ResolveRedisHost("127.0.0.1", dead.port(), true).value();
    addresses.push_back(ResolveRedisHost("127.0.0.1", process.port(), true).value().front());
    return Result<std::vector<RedisSocketAddress>>(addresses);
  };
  Go({{.host = "quota.example", .port = 1}});
  EXPECT_TRUE(Eventually([&] {
    bool connected = false;
    loop_.Call([&] { connected = server_->connected(); });
    return connected;
  }));
  // Not lost again by beginning with the first.
  process.Restart(RedisProcess::Data::kKept);
  loop_.Call([&] { server_->Send(CallOf({"PING"})); });
  ASSERT_TRUE(AllDone(1));
}

// Where nothing comes back at all (the queue of who listens is full): each has its share of the time.
TEST_F(RedisServerTest, AnAddressThatDoesNotConnectLeavesTimeForTheNext) {
  RedisProcess process;
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener, 0), 0);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const auto full = ResolveRedisHost("127.0.0.1", ntohs(address.sin_port), true).value();
  std::vector<RedisSocket> waiting(8);
  for (RedisSocket& socket : waiting) socket.Connect(full.front());
  options_.connection.connect_timeout = std::chrono::seconds(2);
  options_.connection.resolve = [&](const std::string&, uint16_t) {
    auto addresses = full;
    addresses.push_back(ResolveRedisHost("127.0.0.1", process.port(), true).value().front());
    return Result<std::vector<RedisSocketAddress>>(addresses);
  };
  Go({{.host = "quota.example", .port = 1}});
  EXPECT_TRUE(Eventually([&] {
    bool connected = false;
    loop_.Call([&] { connected = server_->connected(); });
    return connected;
  }));
  loop_.Call([&] { EXPECT_EQ(server_->breaker(), RedisBreaker::State::kClosed); });
  Leave();
  ::close(listener);
}

TEST_F(RedisServerTest, SaysWhoIsAwayWhenNobodyAnswers) {
  RedisProcess gone;
  gone.Stop();
  Go({AddressOf(gone)});
  loop_.Call([&] { server_->Send(CallOf({"PING"})); });
  ASSERT_TRUE(AllDone(1));
  ASSERT_EQ(problems_.size(), 1);
  EXPECT_EQ(problems_[0], "not sent: Redis at " + gone.address() + ": Connection refused");
  loop_.Call([&] { EXPECT_NE(server_->breaker(), RedisBreaker::State::kClosed); });
}

TEST_F(RedisServerTest, ACallIsAnsweredAtItsDeadlineAndALaterReplyIsNobodys) {
  RedisProcess process;
  Go({AddressOf(process)});
  loop_.Call([&] { server_->Send(CallOf({"SET", "n", "1"})); });
  ASSERT_TRUE(AllDone(1));
  process.Pause();
  loop_.Call([&] { server_->Send(CallOf({"GET", "n"}, std::chrono::milliseconds(1))); });
  ASSERT_TRUE(AllDone(2));
  ASSERT_EQ(problems_.size(), 1);
  EXPECT_EQ(problems_[0], "sent: Redis at " + process.address() + ": no answer in time");
  loop_.Call([&] { server_->Send(CallOf({"INCR", "n"})); });
  process.Resume();
  ASSERT_TRUE(AllDone(3));
  EXPECT_EQ(answers_, (std::vector<std::string>{"OK", "2"}));
}

TEST_F(RedisServerTest, WhatWaitsWhenTheServerDiesIsAnsweredOnceAsSent) {
  RedisProcess process;
  Go({AddressOf(process)});
  loop_.Call([&] { server_->Send(CallOf({"PING"})); });
  ASSERT_TRUE(AllDone(1));
  process.Pause();
  loop_.Call([&] {
    for (int i = 0; i < 10; ++i) server_->Send(CallOf({"INCR", "n"}));
  });
  process.Kill();
  ASSERT_TRUE(AllDone(11));
  EXPECT_EQ(problems_.size(), 10);
  for (const std::string& problem : problems_) EXPECT_TRUE(problem.starts_with("sent: Redis at ")) << problem;
  process.Start();
  EXPECT_TRUE(Eventually([&] {
    bool connected = false;
    loop_.Call([&] { connected = server_->connected(); });
    return connected;
  }));
  EXPECT_EQ(Done(), 11);
}

TEST_F(RedisServerTest, WhatWaitsWhenItIsDestroyedIsAnswered) {
  RedisProcess process;
  process.Pause();
  Go({AddressOf(process)});
  loop_.Call([&] { server_->Send(CallOf({"PING"})); });
  Leave();
  EXPECT_EQ(problems_.size(), 1);
}

TEST_F(RedisServerTest, LogsInAndChoosesTheDatabase) {
  RedisProcess process({.password = "secret"});
  options_.connection.password = "secret";
  options_.connection.database = 3;
  Go({AddressOf(process)});
  loop_.Call([&] { server_->Send(CallOf({"SET", "n", "1"})); });
  ASSERT_TRUE(AllDone(1));
  EXPECT_EQ(answers_, std::vector<std::string>{"OK"});
  EXPECT_NE(process.Info("keyspace", "db3"), "");
}

// A server of an old version, as far as it gets.
TEST_F(RedisServerTest, AServerThatIsTooOldIsNotUsed) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  std::thread old([listener] {
    const int client = ::accept(listener, nullptr, nullptr);
    const std::string info = "$22\r\nredis_version:6.2.14\r\n\r\n";
    char asked[4096];
    if (::recv(client, asked, sizeof asked, 0) > 0) (void)!::send(client, info.data(), info.size(), MSG_NOSIGNAL);
    while (::recv(client, asked, sizeof asked, 0) > 0) continue;
    ::close(client);
  });
  options_.connection.checks_server = true;
  Go({{.host = "127.0.0.1", .port = ntohs(address.sin_port)}});
  loop_.Call([&] { server_->Send(CallOf({"PING"})); });
  EXPECT_TRUE(AllDone(1));
  Leave();
  old.join();
  ::close(listener);
  ASSERT_EQ(problems_.size(), 1);
  EXPECT_NE(problems_[0].find("it is Redis 6.2.14, and the quotas need 7 or later"), std::string::npos) << problems_[0];
}

TEST_F(RedisServerTest, ARefusedPasswordIsSaidWithoutIt) {
  RedisProcess process({.password = "secret"});
  options_.connection.password = "guessed";
  Go({AddressOf(process)});
  loop_.Call([&] { server_->Send(CallOf({"PING"})); });
  ASSERT_TRUE(AllDone(1));
  ASSERT_EQ(problems_.size(), 1);
  EXPECT_NE(problems_[0].find("refuses the user or the password: WRONGPASS"), std::string::npos) << problems_[0];
  EXPECT_EQ(problems_[0].find("guessed"), std::string::npos);
}

TEST(RedisBreaker, OpensAfterFailuresInARowAndDoublesItsPause) {
  using State = RedisBreaker::State;
  constexpr Duration kFirst = std::chrono::milliseconds(100);
  RedisBreaker breaker(3, kFirst, 5 * kFirst);
  EXPECT_FALSE(breaker.Failed());
  EXPECT_FALSE(breaker.Failed());
  breaker.Answered();
  EXPECT_FALSE(breaker.Failed());
  EXPECT_FALSE(breaker.Failed());
  EXPECT_TRUE(breaker.Failed());
  EXPECT_EQ(breaker.state(), State::kOpen);
  EXPECT_EQ(breaker.NextPause(), kFirst);
  breaker.Probing();
  EXPECT_EQ(breaker.state(), State::kHalfOpen);
  breaker.ProbeFailed();
  EXPECT_EQ(breaker.NextPause(), 2 * kFirst);
  EXPECT_EQ(breaker.NextPause(), 4 * kFirst);
  EXPECT_EQ(breaker.NextPause(), 5 * kFirst);
  breaker.ProbeAnswered();
  EXPECT_TRUE(breaker.lets_pass());
}

TEST(RedisBreaker, AProbeThatIsAnsweredIsNoCallThatIs) {
  constexpr Duration kFirst = std::chrono::milliseconds(100);
  RedisBreaker breaker(3, kFirst, 50 * kFirst);
  EXPECT_TRUE(breaker.Trip());
  EXPECT_EQ(breaker.NextPause(), kFirst);
  breaker.ProbeAnswered();
  EXPECT_TRUE(breaker.Failed());
  EXPECT_EQ(breaker.NextPause(), 2 * kFirst);
  breaker.ProbeAnswered();
  breaker.Answered();
  EXPECT_FALSE(breaker.Failed());
  EXPECT_EQ(breaker.NextPause(), kFirst);
}

}  // namespace
}  // namespace weir
