// Answers that are waited for: from any thread, in order, and too late.
#include <condition_variable>
#include <future>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/fixtures/failing_memory.h"
#include "tests/relay/net/server_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class DeferredTest : public ServerTest {
 protected:
  DeferredTest() {
    router_.Add("GET", "/", [](const HttpRequest&) { return HttpResponse{.body = "landing"}; });
    router_.AddDeferred("POST", "/now", [](const HttpRequest& r, const HttpReply& reply) { reply({.body = r.body}); });
    router_.AddDeferred("GET", "/later", [this](const HttpRequest& r, HttpReply reply) {
      const std::lock_guard lock(mutex_);
      replies_.push_back(std::move(reply));
      record_.Add("asked " + r.query);
    });
  }
  ~DeferredTest() override { server_.reset(); }

  static std::string Post(const std::string& body) {
    return "POST /now HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  // Takes the oldest reply that is waited for.
  HttpReply TakeReply() {
    const std::lock_guard lock(mutex_);
    HttpReply reply = std::move(replies_.front());
    replies_.erase(replies_.begin());
    return reply;
  }
  void Reply(const std::string& body) { TakeReply()({.body = body}); }

  std::mutex mutex_;
  std::vector<HttpReply> replies_;
};

TEST_F(DeferredTest, AnAnswerAtOnceIsAsThatOfAPlainHandler) {
  Start();
  RawClient client = ConnectAndSend(Post("one") + Post("two") + Get("/"));
  EXPECT_EQ(client.Answer().body, "one");
  EXPECT_EQ(client.Answer().body, "two");
  EXPECT_EQ(client.Answer().body, "landing");
}

TEST_F(DeferredTest, AnAnswerMayComeLaterFromAnyThreadAndTheConnectionGoesOn) {
  Start();
  RawClient client = Connect();
  for (int n = 1; n <= 3; ++n) {
    client.Send(Get("/later?" + std::to_string(n)));
    ASSERT_TRUE(record_.Await("asked " + std::to_string(n)));
    std::thread([&] { Reply("answer " + std::to_string(n)); }).join();
    const RawAnswer answer = client.Answer();
    EXPECT_EQ(answer.body, "answer " + std::to_string(n));
    EXPECT_EQ(answer.headers.at("connection"), "keep-alive");
  }
  EXPECT_TRUE(client.Handshake()) << "a WebSocket after it";
}

TEST_F(DeferredTest, WhereThereIsNoMemoryToPostAnAnswerATickFindsIt) {
  Start();
  RawClient client = ConnectAndSend(Get("/later"));
  ASSERT_TRUE(record_.Await("asked"));
  OnIoThread([] {});  // the handler has returned, so its answer has to be posted
  FailAlignedAllocation(1);
  Reply("answer");
  EXPECT_TRUE(EndFailing());
  EXPECT_EQ(client.Answer().body, "answer");
}

TEST_F(DeferredTest, WhereThereIsNoMemoryAReplyThatWasGivenCanGo) {
  Start();
  RawClient client = ConnectAndSend(Get("/later"));
  ASSERT_TRUE(record_.Await("asked"));
  {
    const HttpReply reply = TakeReply();
    reply({.body = "answer"});
    FailAllocation(1);
  }
  EXPECT_FALSE(EndFailing());
  EXPECT_EQ(client.Answer().body, "answer");
}

TEST_F(DeferredTest, WhereThereIsNoMemoryAReplyThatWasNotGivenIsAnswered) {
  Start();
  RawClient client = ConnectAndSend(Get("/later"));
  ASSERT_TRUE(record_.Await("asked"));
  OnIoThread([] {});
  {
    const HttpReply reply = TakeReply();
    FailAllocation(1);
  }
  EXPECT_FALSE(EndFailing());
  const RawAnswer answer = client.Answer();
  EXPECT_EQ(answer.status, 500);
  EXPECT_TRUE(Has(answer.body, "was not answered\"}}"));
}

TEST_F(DeferredTest, WhereThereIsNoMemoryToWordAnErrorItIsStillGiven) {
  Start();
  RawClient client = ConnectAndSend(Get("/later"));
  ASSERT_TRUE(record_.Await("asked"));
  OnIoThread([] {});
  const HttpReply reply = TakeReply();
  HttpResponse error{.status = 404, .body = "there is no such thing, for any client\n"};
  FailAllocation(1);
  reply(std::move(error));
  EXPECT_FALSE(EndFailing());
  const RawAnswer answer = client.Answer();
  EXPECT_EQ(answer.status, 404);
  EXPECT_TRUE(Has(answer.body, "there is no such thing, for any client\"}}"));
}

TEST_F(DeferredTest, RequestsSentAheadWaitForTheAnswer) {
  Start();
  RawClient client = ConnectAndSend(Get("/") + Get("/later?a") + Get("/later?b") + Post("last"));
  EXPECT_EQ(client.Answer().body, "landing") << "what was answered goes out meanwhile";
  ASSERT_TRUE(record_.Await("asked a"));
  OnIoThread([] {});
  EXPECT_EQ(record_.Count("asked b"), 0U);
  Reply("a");
  EXPECT_EQ(client.Answer().body, "a");
  ASSERT_TRUE(record_.Await("asked b"));
  Reply("b");
  EXPECT_EQ(client.Answer().body, "b");
  EXPECT_EQ(client.Answer().body, "last");
}

TEST_F(DeferredTest, TheLastAnswerReachesAClientThatHasSentMore) {
  Start();
  std::string ahead;
  while (ahead.size() < 100'000) ahead += Get("/");  // more than the server reads while a request waits
  size_t asked = 0;
  for (const std::string& last : {Get("/later", "Connection: close\r\n"), std::string("GET /later HTTP/1.0\r\n\r\n")}) {
    RawClient client = ConnectAndSend(last);
    ASSERT_TRUE(record_.Await("asked", ++asked));
    ASSERT_TRUE(client.Send(ahead));
    Reply("last");
    EXPECT_EQ(client.Answer().body, "last");
    EXPECT_TRUE(client.AtEnd());
    EXPECT_FALSE(client.was_reset());
  }
}

TEST_F(DeferredTest, KeepsRequestsThatComeWhileItWaits) {
  Start();
  RawClient client = ConnectAndSend(Get("/later"));
  ASSERT_TRUE(record_.Await("asked"));
  const std::string next = Post(std::string(300'000, 'x'));
  std::thread sender([&] { client.Send(next); });
  OnIoThread([] {});
  Reply("first");
  EXPECT_EQ(client.Answer().body, "first");
  EXPECT_EQ(client.Answer().body.size(), 300'000U);
  sender.join();
}

TEST_F(DeferredTest, HeadOldVersionsAndContinueAreAsEver) {
  Start();
  RawClient client = ConnectAndSend("HEAD /later HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(record_.Await("asked", 1));
  Reply("seven b");
  EXPECT_EQ(client.Answer(false).headers.at("content-length"), "7");
  client.Send("POST /now HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.Answer().status, 100);
  client.Send("ok");
  EXPECT_EQ(client.Answer().body, "ok");
  RawClient old = ConnectAndSend("GET /later HTTP/1.0\r\n\r\n");
  ASSERT_TRUE(record_.Await("asked", 2));
  Reply("old");
  EXPECT_EQ(old.Answer().body, "old");
  EXPECT_TRUE(old.AtEnd());
  RawClient closing = ConnectAndSend(Get("/later", "Connection: close\r\n"));
  ASSERT_TRUE(record_.Await("asked", 3));
  Reply("closing");
  EXPECT_EQ(closing.Answer().headers.at("connection"), "close");
  EXPECT_TRUE(closing.AtEnd());
}

TEST_F(DeferredTest, AReplyThatIsDroppedIsAFault) {
  router_.AddDeferred("GET", "/drop", [](const HttpRequest&, const HttpReply&) {});
  Start();
  RawClient client = ConnectAndSend(Get("/drop") + Get("/later"));
  EXPECT_EQ(client.Answer().status, 500);
  ASSERT_TRUE(record_.Await("asked"));
  { const std::vector<HttpReply> copies(2, TakeReply()); }
  EXPECT_EQ(client.Answer().status, 500);
  client.Send(Get("/"));
  EXPECT_EQ(client.Answer().status, 200);
}

TEST_F(DeferredTest, OnlyTheFirstCallCounts) {
  Start();
  RawClient client = ConnectAndSend(Get("/later?1"));
  ASSERT_TRUE(record_.Await("asked 1"));
  const std::vector<HttpReply> copies(2, TakeReply());
  copies[0]({.body = "first"});
  copies[1]({.body = "second"});
  EXPECT_EQ(client.Answer().body, "first");
  client.Send(Get("/later?2"));
  ASSERT_TRUE(record_.Await("asked 2"));
  copies[0]({.body = "third"});
  Reply("its own");
  EXPECT_EQ(client.Answer().body, "its own");
}

TEST_F(DeferredTest, AHandlerThatThrowsHasNoReply) {
  router_.AddDeferred("GET", "/fault", [this](const HttpRequest&, HttpReply reply) {
    const std::lock_guard lock(mutex_);
    replies_.push_back(std::move(reply));
    throw std::runtime_error("secret");
  });
  Start();
  RawClient client = ConnectAndSend(Get("/fault") + Get("/later"));
  EXPECT_EQ(client.Answer().status, 500);
  ASSERT_TRUE(record_.Await("asked"));
  Reply("of the one that failed");
  Reply("good");
  EXPECT_EQ(client.Answer().body, "good");
}

TEST_F(DeferredTest, AnAnswerMayTakeLongerThanAHandshake) {
  settings_.handshake_timeout = seconds(1);
  Start();
  RawClient client = ConnectAndSend(Get("/later"));
  ASSERT_TRUE(record_.Await("asked"));
  RawClient silent = Connect();
  ASSERT_EQ(silent.Answer().status, 408) << "its time, which began later, is over";
  Reply("at last");
  EXPECT_EQ(client.Answer().body, "at last");
  EXPECT_TRUE(client.AtEnd()) << "and from then on the silence counts";
  EXPECT_EQ(server_->Stats().http_errors, 1U) << "the silent one's";
}

TEST_F(DeferredTest, AClientThatHalfClosedGetsItsAnswer) {
  Start();
  RawClient client = ConnectAndSend(Get("/later"));
  client.HalfClose();
  ASSERT_TRUE(record_.Await("asked"));
  OnIoThread([] {});
  Reply("late");
  EXPECT_EQ(client.Answer().body, "late");
  EXPECT_TRUE(client.AtEnd());
}

TEST_F(DeferredTest, TheHandlerSeesThatTheClientHasHungUp) {
  Start();
  RawClient client = ConnectAndSend(Get("/later?1"));
  ASSERT_TRUE(record_.Await("asked 1"));
  {
    const HttpReply reply = TakeReply();
    EXPECT_FALSE(reply.abandoned());
    reply({.body = "one"});
  }
  EXPECT_EQ(client.Answer().body, "one");
  client.Send(Get("/later?2"));
  ASSERT_TRUE(record_.Await("asked 2"));
  const HttpReply reply = TakeReply();
  EXPECT_FALSE(reply.abandoned());
  client.HalfClose();
  EXPECT_TRUE(Eventually([&] { return reply.abandoned(); }));
  reply({.body = "all the same"});
  EXPECT_EQ(client.Answer().body, "all the same");
  RawClient lost = ConnectAndSend(Get("/later?3"));
  ASSERT_TRUE(record_.Await("asked 3"));
  const HttpReply to_nobody = TakeReply();
  lost.Reset();
  EXPECT_TRUE(Eventually([&] { return to_nobody.abandoned(); }));
}

TEST_F(DeferredTest, AReplyAfterTheConnectionDoesNothing) {
  settings_.max_connections = 1;
  Start();
  {
    RawClient client = Connect("127.0.0.2");
    client.Send(Get("/later"));
    ASSERT_TRUE(record_.Await("asked"));
    client.Reset();
  }
  // The connection's place is free when it is gone.
  ASSERT_TRUE(Eventually([&] {
    RawClient other = Connect("127.0.0.2");
    other.Send(Get("/"));
    return other.Answer().status == 200;
  }));
  Reply("to nobody");
}

TEST_F(DeferredTest, AReplyAfterTheServerDoesNothing) {
  Start();
  RawClient client = ConnectAndSend(Get("/later"));
  ASSERT_TRUE(record_.Await("asked"));
  server_.reset();
  Reply("to nobody");
  EXPECT_TRUE(client.AtEnd());
}

TEST_F(DeferredTest, AShutdownWaitsForTheAnswer) {
  Start();
  RawClient client = ConnectAndSend(Get("/later") + Get("/"));
  ASSERT_TRUE(record_.Await("asked"));
  auto shutdown = std::async(std::launch::async, [&] { server_->Shutdown(minutes(10)); });
  EXPECT_EQ(shutdown.wait_for(milliseconds(300)), std::future_status::timeout);
  Reply("the last");
  const RawAnswer answer = client.Answer();
  EXPECT_EQ(answer.body, "the last");
  EXPECT_EQ(answer.headers.at("connection"), "close");
  EXPECT_TRUE(client.AtEnd());
  EXPECT_EQ(shutdown.wait_for(std::chrono::minutes(1)), std::future_status::ready);
}

TEST_F(DeferredTest, AShutdownWaitsNoLongerThanItWasTold) {
  Start();
  RawClient client = ConnectAndSend(Get("/later"));
  ASSERT_TRUE(record_.Await("asked"));
  server_->Shutdown(milliseconds(100));
  EXPECT_TRUE(client.AtEnd());
  Reply("too late");
}

// Replies against ends of every kind, for the sanitizers.
TEST_F(DeferredTest, RepliesWhileConnectionsComeAndGo) {
  settings_.io_threads = 2;
  std::atomic<bool> stop{false};
  std::vector<std::thread> repliers;
  for (int n = 0; n < 2; ++n) {
    repliers.emplace_back([&] {
      while (!stop) {
        std::vector<HttpReply> taken;
        {
          const std::lock_guard lock(mutex_);
          taken.swap(replies_);
        }
        for (size_t i = 0; i < taken.size(); ++i)
          if (i % 8 != 7) taken[i]({.body = "x"});
        if (taken.empty()) std::this_thread::yield();
      }
    });
  }
  Start();
  for (int round = 0; round < 100; ++round) {
    RawClient client = ConnectAndSend(Get("/later") + Get("/later") + Post("y"));
    if (round % 3 == 0) client.Reset();
    if (round % 3 == 1) {
      EXPECT_TRUE(client.ReadAnswer());
    }
    if (round % 3 == 2) {
      for (int n = 0; n < 3; ++n) EXPECT_TRUE(client.ReadAnswer());
    }
  }
  RawClient client = ConnectAndSend(Get("/later"));
  server_.reset();
  stop = true;
  for (std::thread& replier : repliers) replier.join();
}

}  // namespace
}  // namespace weir
