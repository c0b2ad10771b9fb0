// One connection to one server: calls are written together and answered in order, exactly once.
#include "config/wire/redis/redis_connection.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "config/wire/redis/redis_cluster.h"
#include "config/wire/redis/redis_server.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/listening_socket.h"
#include "tests/fixtures/redis_process.h"

namespace weir {
namespace {

constexpr std::chrono::seconds kPatience{60};

// A loop with one server.
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
  void Send(std::initializer_list<std::string_view> words, Duration patience = kPatience) {
    loop_.Call([&] { server_->Send(CallOf(words, patience)); });
  }
  size_t Done() {
    size_t done = 0;
    loop_.Call([&] { done = answers_.size() + problems_.size(); });
    return done;
  }
  bool AllDone(size_t count) {
    return Eventually([&] { return Done() >= count; });
  }

  bool Connects() {
    return Eventually([&] {
      bool connected = false;
      loop_.Call([&] { connected = server_->connected(); });
      return connected;
    });
  }

  // Waits until it is connected, then pauses the server.
  void Halt(RedisProcess& process) {
    Send({"PING"});
    ASSERT_TRUE(AllDone(1));
    process.Pause();
  }
  void SendLate(size_t count, Duration patience = std::chrono::milliseconds(1)) {
    loop_.Call([&] {
      for (size_t i = 0; i < count; ++i) {
        RedisCallPtr call = CallOf({"INCR", "n"}, patience);
        call->late = [this, command = call->command](const RedisCall& late, const redisReply& reply) {
          EXPECT_EQ(late.command, command);
          late_.push_back(std::to_string(reply.integer));
        };
        server_->Send(std::move(call));
      }
    });
  }
  size_t Late() {
    size_t late = 0;
    loop_.Call([&] { late = late_.size(); });
    return late;
  }

  RedisServerOptions options_{.connection = {.connect_timeout = kPatience, .silence = kPatience}, .timeout = kPatience};
  std::vector<std::string> answers_;
  std::vector<std::string> problems_;
  std::vector<std::string> late_;
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

TEST_F(RedisServerTest, WritesTheCallsOfATurnTogether) {
  RedisProcess process;
  Go({AddressOf(process)});
  Send({"PING"});
  ASSERT_TRUE(AllDone(1));
  uint64_t writes = 0;
  loop_.Call([&] {
    writes = server_->writes();
    for (int i = 0; i < 500; ++i) server_->Send(CallOf({"INCR", "n"}));
  });
  ASSERT_TRUE(AllDone(501));
  loop_.Call([&] { writes = server_->writes() - writes; });
  EXPECT_LE(writes, 5);  // one write, unless the socket was full
}

TEST_F(RedisServerTest, WritesTheRestInOrderWhenTheSocketWasFull) {
  RedisProcess process;
  Go({AddressOf(process)});
  Halt(process);
  const std::string large(size_t{1} << 20, 'x');
  constexpr size_t kCalls = 16;
  for (size_t i = 0; i < kCalls; ++i) Send({"APPEND", "n", large});
  process.Resume();
  ASSERT_TRUE(AllDone(kCalls + 1));
  for (size_t i = 1; i <= kCalls; ++i) EXPECT_EQ(answers_[i], std::to_string(i * large.size()));
}

TEST_F(RedisServerTest, TakesTheFirstAddressThatAnswers) {
  RedisProcess process;
  RedisProcess gone;
  gone.Stop();
  Go({AddressOf(gone), AddressOf(process)});
  Send({"PING"});
  ASSERT_TRUE(AllDone(1));
  EXPECT_EQ(answers_, std::vector<std::string>{"PONG"});
}

// The host's first address accepts connections and never answers, as an address behind a dead router may look.
TEST_F(RedisServerTest, GoesOnToTheNextAddressIfTheFirstIsDead) {
  RedisProcess process;
  RedisProcess dead;
  dead.Pause();
  options_.connection.connect_timeout = std::chrono::milliseconds(300);
  options_.retry_first = options_.retry_longest = std::chrono::milliseconds(10);
  // The addresses are copied, because a thread that resolves may outlive the test.
  options_.connection.resolve = [addresses =
                                     std::vector{AddressOf(dead), AddressOf(process)}](const RedisAddress& address) {
    EXPECT_EQ(address.host, "quota.example");
    return addresses;
  };
  Go({{.host = "quota.example", .port = 1}});
  EXPECT_TRUE(Connects());
  // The next connection is not lost by starting with the first address again.
  process.Restart(RedisProcess::Data::kKept);
  Send({"PING"});
  ASSERT_TRUE(AllDone(1));
}

// No reply at all comes from the first address, because its listen queue is full. Each address has its share of the
// time.
TEST_F(RedisServerTest, AnAddressThatDoesNotConnectLeavesTimeForTheNext) {
  RedisProcess process;
  const ListeningSocket listener(0);
  std::vector<int> waiting(8);
  for (int& client : waiting) {
    client = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    (void)!::connect(client, listener.address(), sizeof(sockaddr_in));
  }
  options_.connection.connect_timeout = std::chrono::seconds(2);
  const RedisAddress full{.host = "127.0.0.1", .port = listener.port()};
  options_.connection.resolve = [addresses = std::vector{full, AddressOf(process)}](const RedisAddress&) {
    return addresses;
  };
  Go({{.host = "quota.example", .port = 1}});
  EXPECT_TRUE(Connects());
  loop_.Call([&] { EXPECT_EQ(server_->breaker(), RedisBreaker::State::kClosed); });
  Leave();
  for (const int client : waiting) ::close(client);
}

TEST_F(RedisServerTest, NamesTheServerThatDoesNotAnswer) {
  RedisProcess gone;
  gone.Stop();
  Go({AddressOf(gone)});
  Send({"PING"});
  ASSERT_TRUE(AllDone(1));
  ASSERT_EQ(problems_.size(), 1);
  EXPECT_EQ(problems_[0], "not sent: Redis at " + gone.address() + ": Connection refused");
  loop_.Call([&] { EXPECT_NE(server_->breaker(), RedisBreaker::State::kClosed); });
}

TEST_F(RedisServerTest, ACallEndsAtItsDeadlineAndItsLateReplyIsDropped) {
  RedisProcess process;
  Go({AddressOf(process)});
  Send({"SET", "n", "1"});
  ASSERT_TRUE(AllDone(1));
  process.Pause();
  Send({"GET", "n"}, std::chrono::milliseconds(1));
  ASSERT_TRUE(AllDone(2));
  ASSERT_EQ(problems_.size(), 1);
  EXPECT_EQ(problems_[0], "sent: Redis at " + process.address() + ": no answer in time");
  Send({"INCR", "n"});
  process.Resume();
  ASSERT_TRUE(AllDone(3));
  EXPECT_EQ(answers_, (std::vector<std::string>{"OK", "2"}));
}

TEST_F(RedisServerTest, ALateReplyGoesToCallersThatWantIt) {
  RedisProcess process;
  Go({AddressOf(process)});
  Halt(process);
  SendLate(2);
  ASSERT_TRUE(AllDone(3));
  Send({"INCR", "n"}, std::chrono::milliseconds(1));  // ignores its late reply
  ASSERT_TRUE(AllDone(4));
  Send({"INCR", "n"});
  process.Resume();
  ASSERT_TRUE(AllDone(5));
  EXPECT_EQ(answers_, (std::vector<std::string>{"PONG", "4"}));
  EXPECT_EQ(late_, (std::vector<std::string>{"1", "2"}));
}

// Also late replies to calls that wait until the connection is given up.
TEST_F(RedisServerTest, LateRepliesAreHeardOnAConnectionThatIsGivenUp) {
  RedisProcess process;
  options_.connection.silence = std::chrono::milliseconds(100);
  Go({AddressOf(process)});
  Halt(process);
  loop_.Call([&] {
    SendLate(1);
    SendLate(1, kPatience);
  });
  ASSERT_TRUE(AllDone(3));
  EXPECT_NE(problems_[1].find("sent: Redis at " + process.address() + ": it has stopped answering"), std::string::npos);
  process.Resume();
  EXPECT_TRUE(Eventually([&] { return Late() == 2; }));
  EXPECT_EQ(late_, (std::vector<std::string>{"1", "2"}));
}

TEST_F(RedisServerTest, NoLateReplyIsHeardOfAServerThatDied) {
  RedisProcess process;
  Go({AddressOf(process)});
  Halt(process);
  SendLate(3);
  ASSERT_TRUE(AllDone(4));
  process.Kill();
  process.Start();
  EXPECT_TRUE(Connects());
  EXPECT_EQ(Late(), 0);
}

TEST_F(RedisServerTest, LateRepliesAreBounded) {
  RedisProcess process;
  options_.breaker_failures = 1'000'000;
  Go({AddressOf(process)});
  Halt(process);
  SendLate(kMostLate + 1);
  ASSERT_TRUE(AllDone(kMostLate + 2));
  Send({"GET", "n"});
  process.Resume();
  ASSERT_TRUE(AllDone(kMostLate + 3));
  EXPECT_EQ(answers_.back(), std::to_string(kMostLate + 1));
  EXPECT_EQ(Late(), kMostLate);
}

TEST_F(RedisServerTest, PendingCallsOfADeadServerAreAnsweredOnceAsSent) {
  RedisProcess process;
  Go({AddressOf(process)});
  Send({"PING"});
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
  EXPECT_TRUE(Connects());
  EXPECT_EQ(Done(), 11);
}

TEST_F(RedisServerTest, PendingCallsAreAnsweredOnDestruction) {
  RedisProcess process;
  process.Pause();
  Go({AddressOf(process)});
  Send({"PING"});
  Leave();
  EXPECT_EQ(problems_.size(), 1);
}

// A failover, or a flush, loses the scripts that were loaded at the login.
TEST_F(RedisServerTest, LostScriptsAreLoadedForACallThatWasRedirectedToo) {
  RedisProcess process;
  options_.connection.prelude = {FormatRedisCommand({"SCRIPT", "LOAD", "return 7"})};
  Go({AddressOf(process)});
  ASSERT_TRUE(Connects());
  for (const uint8_t redirections : {0, 1, 2, RedisClusterTopology::kRedirections}) {
    ASSERT_TRUE(process.Command({"SCRIPT", "FLUSH"}).ok());
    answers_.clear();
    loop_.Call([&] {
      RedisCallPtr call = CallOf({"EVALSHA", "59b6ab2fbe0ee4b25733de0f62e6cda4899ef8e9", "0"});
      call->sent_again = redirections;
      server_->Send(std::move(call));
    });
    ASSERT_TRUE(AllDone(1));
    EXPECT_EQ(answers_, std::vector<std::string>{"7"}) << "after " << int{redirections} << " redirections";
  }
}

TEST_F(RedisServerTest, LogsInAndChoosesTheDatabase) {
  RedisProcess process({.password = "secret"});
  options_.connection.password = "secret";
  options_.connection.database = 3;
  Go({AddressOf(process)});
  Send({"SET", "n", "1"});
  ASSERT_TRUE(AllDone(1));
  EXPECT_EQ(answers_, std::vector<std::string>{"OK"});
  EXPECT_NE(process.Info("keyspace", "db3"), "");
}

// Acts as a server of an old version.
TEST_F(RedisServerTest, AServerThatIsTooOldIsNotUsed) {
  const ListeningSocket listener(1);
  std::thread old([&] {
    const int client = ::accept(listener.socket(), nullptr, nullptr);
    const std::string info = "$22\r\nredis_version:6.2.14\r\n\r\n";
    char asked[4096];
    if (::recv(client, asked, sizeof asked, 0) > 0) (void)!::send(client, info.data(), info.size(), MSG_NOSIGNAL);
    while (::recv(client, asked, sizeof asked, 0) > 0) continue;
    ::close(client);
  });
  options_.connection.checks_server = true;
  Go({{.host = "127.0.0.1", .port = listener.port()}});
  Send({"PING"});
  EXPECT_TRUE(AllDone(1));
  Leave();
  old.join();
  ASSERT_EQ(problems_.size(), 1);
  EXPECT_NE(problems_[0].find("it is Redis 6.2.14, and weir needs 7 or later"), std::string::npos) << problems_[0];
}

TEST_F(RedisServerTest, ARefusedPasswordIsSaidWithoutIt) {
  RedisProcess process({.password = "secret"});
  options_.connection.password = "guessed";
  Go({AddressOf(process)});
  Send({"PING"});
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

TEST(RedisBreaker, AnAnsweredProbeDoesNotForgetFailuresOfCalls) {
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
