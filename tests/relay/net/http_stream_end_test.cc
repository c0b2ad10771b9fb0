// Requests and answers in pieces that go wrong: each handler hears its end, once.
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/fixtures/failing_memory.h"
#include "tests/relay/net/stream_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class StreamEndTest : public StreamTest {
 protected:
  // Begins the answer with the first piece.
  void AnswerEarly() {
    stream_.on_body = [begun = false](HttpExchange& exchange, std::string_view) mutable {
      if (!std::exchange(begun, true)) exchange.Begin({.body = "begun"});
    };
  }
  [[noreturn]] static void Fail() { throw std::runtime_error("secret"); }
};

TEST_F(StreamEndTest, AMalformedChunkIsAnswered) {
  Start();
  RawClient client = ConnectAndSend(PostChunks("1\r\na\r\nx\r\n"));
  EXPECT_EQ(client.Answer().status, 400);
  EXPECT_TRUE(client.AtEnd());
  ExpectEnd("answered 400");
  EXPECT_EQ(record_.Count("body end"), 0U);
  EXPECT_EQ(server_->Stats().http_errors, 1U);
}

TEST_F(StreamEndTest, AMalformedChunkBreaksAnAnswerOff) {
  AnswerEarly();
  Start();
  RawClient client = ConnectAndSend(PostChunks("1\r\na\r\nx\r\n"));
  EXPECT_EQ(client.Answer().status, 200);
  EXPECT_EQ(client.ReadChunk(), "begun");
  EXPECT_EQ(client.ReadChunk(), std::nullopt);
  ExpectEnd("not well-formed");
  EXPECT_EQ(server_->Stats().http_errors, 1U);
}

TEST_F(StreamEndTest, AResetAmidTheBodyEndsTheExchange) {
  Start();
  RawClient client = ConnectAndSend(Post("Content-Length: 100\r\n") + "a");
  ASSERT_TRUE(record_.Await("body"));
  client.Reset();
  ExpectEnd("connection lost");
  ExpectService();
}

TEST_F(StreamEndTest, AResetAfterTheBodyEndsTheExchange) {
  stream_.on_body_end = nullptr;
  Start();
  RawClient client = ConnectAndSend(PostOf("abc"));
  ASSERT_TRUE(record_.Await("body end"));
  client.Reset();
  ExpectEnd("connection lost");
}

TEST_F(StreamEndTest, AResetAmidADownloadEndsTheExchange) {
  stream_.on_body_end = [](HttpExchange& exchange, const std::string&) {
    exchange.Begin({.body = std::string(3'000'000, 'x')});
    exchange.PauseBody();
    exchange.WhenPendingBelow(0, [] { ADD_FAILURE() << "nobody took it"; });
  };
  Start();
  RawClient client(server_->port(), "127.0.0.1", 4096);
  client.Send(Get("/down"));
  EXPECT_EQ(client.Answer().status, 200);
  client.Reset();
  ExpectEnd("connection lost");
}

TEST_F(StreamEndTest, AHangUpAmidTheBodyEndsTheExchange) {
  AnswerEarly();
  Start();
  RawClient client = ConnectAndSend(PostChunks("1\r\na\r\n"));
  EXPECT_EQ(client.Answer().status, 200);
  client.HalfClose();
  EXPECT_EQ(client.ReadChunks(), std::nullopt);
  ExpectEnd("the client hung up");
}

TEST_F(StreamEndTest, AClientThatOnlyReadsHasLeftWhenItClosesItsHalf) {
  stream_.on_body_end = nullptr;
  Start();
  RawClient client = ConnectAndSend(Get("/down"));
  ASSERT_TRUE(record_.Await("body end"));
  client.HalfClose();
  ExpectEnd("the client hung up");
}

TEST_F(StreamEndTest, AClientThatHasSaidAllAndHalfClosedGetsItsAnswer) {
  stream_.on_body_end = nullptr;
  Start();
  RawClient client = ConnectAndSend(PostOf("abc"));
  client.HalfClose();
  ASSERT_TRUE(record_.Await("body end"));
  ExpectService();
  OnIoThread([&] {
    exchange_->Begin({.body = "late"});
    exchange_->End();
  });
  EXPECT_EQ(client.Answer().status, 200);
  EXPECT_EQ(client.ReadChunks(), "late");
  EXPECT_TRUE(client.AtEnd());
}

TEST_F(StreamEndTest, AnAbortedAnswerLacksItsEnd) {
  stream_.on_body_end = [](HttpExchange& exchange, const std::string&) {
    exchange.Begin({.body = "some"});
    exchange.Abort("no more to be had");
    exchange.Write("more");
  };
  Start();
  RawClient client = ConnectAndSend(Get("/down"));
  EXPECT_EQ(client.Answer().status, 200);
  EXPECT_EQ(client.ReadChunk(), "some");
  EXPECT_EQ(client.ReadChunk(), std::nullopt);
  ExpectEnd("no more to be had");
  RawClient old = ConnectAndSend("GET /down HTTP/1.0\r\n\r\n");
  old.ReadToEnd();
  EXPECT_TRUE(old.was_reset()) << "nothing else says that it was not whole";
}

TEST_F(StreamEndTest, ABodyThatStallsIsAnswered) {
  settings_.ping_interval = milliseconds(100);
  Start();
  RawClient client = ConnectAndSend(Post("Content-Length: 100\r\n") + "a");
  EXPECT_EQ(client.Answer().status, 408);
  ExpectEnd("answered 408");
  EXPECT_EQ(server_->Stats().http_errors, 1U);
}

TEST_F(StreamEndTest, ABodyThatStallsBreaksAnAnswerOff) {
  settings_.ping_interval = milliseconds(100);
  AnswerEarly();
  Start();
  RawClient client = ConnectAndSend(Post("Content-Length: 100\r\n") + "a");
  EXPECT_EQ(client.Answer().status, 200);
  EXPECT_EQ(client.ReadChunks(), std::nullopt);
  ExpectEnd("no more of the body in time");
}

TEST_F(StreamEndTest, WhilePausedSilenceIsNoStallNorWhenAllHasCome) {
  settings_.ping_interval = milliseconds(100);
  stream_.on_body = [&, first = true](HttpExchange& exchange, std::string_view) mutable {
    if (std::exchange(first, false)) exchange.PauseBody();
  };
  stream_.on_body_end = nullptr;
  Start();
  RawClient client = ConnectAndSend(PostChunks("1\r\na\r\n"));
  ASSERT_TRUE(record_.Await("body"));
  HttpExchange* const paused = exchange_;
  const auto await_a_stall = [&] {
    RawClient stalled = ConnectAndSend(Post("Content-Length: 100\r\n"));
    EXPECT_EQ(stalled.Answer().status, 408);
  };
  await_a_stall();
  client.Send("1\r\nb\r\n0\r\n\r\n");
  await_a_stall();
  OnIoThread([&] { paused->ResumeBody(); });
  ASSERT_TRUE(record_.Await("body end"));
  await_a_stall();
  OnIoThread([&] {
    paused->Begin({});
    paused->End();
  });
  EXPECT_EQ(client.Answer().status, 200);
  EXPECT_EQ(client.ReadChunks(), "");
}

TEST_F(StreamEndTest, OutputThatIsNotTakenIsTooSlow) {
  settings_.ping_interval = milliseconds(100);
  stream_.on_body_end = [](HttpExchange& exchange, const std::string&) {
    exchange.Begin({.body = std::string(20 << 20, 'x')});
  };
  Start();
  RawClient client(server_->port(), "127.0.0.1", 4096);
  client.Send(Get("/down"));
  ExpectEnd("too slow");
  EXPECT_EQ(server_->Stats().too_slow, 1U);
}

TEST_F(StreamEndTest, AShutdownIsToldOnceAndWaitsForTheAnswer) {
  AnswerEarly();
  stream_.on_shutdown = [](HttpExchange& exchange) {
    exchange.Write("last words");
    exchange.End();
  };
  Start();
  RawClient client = ConnectAndSend(PostChunks("1\r\na\r\n"));
  EXPECT_EQ(client.Answer().status, 200);
  auto shutdown = std::async(std::launch::async, [&] { server_->Shutdown(minutes(10)); });
  EXPECT_EQ(client.ReadChunks(), "begunlast words");
  EXPECT_TRUE(client.AtEnd());
  EXPECT_EQ(shutdown.wait_for(std::chrono::minutes(1)), std::future_status::ready);
  EXPECT_EQ(record_.Count("shutdown"), 1U);
  ExpectEnd("answered 200");
}

TEST_F(StreamEndTest, AShutdownWaitsNoLongerThanItWasTold) {
  Start();
  RawClient client = ConnectAndSend(PostChunks("1\r\na\r\n"));
  ASSERT_TRUE(record_.Await("body"));
  server_->Shutdown(milliseconds(200));
  EXPECT_EQ(record_.Count("shutdown"), 1U);
  ExpectEnd("the server ended");
  EXPECT_EQ(client.ReadAnswer(), std::nullopt);
}

TEST_F(StreamEndTest, AFaultBeforeTheAnswerIsAnswered) {
  const auto fail = [](HttpExchange&, auto) { Fail(); };
  const std::vector<StreamBehaviour> faults = {
      {.refuse = [](const HttpRequest&) -> std::optional<HttpResponse> { Fail(); }},
      {.on_begin = [](HttpExchange&) { Fail(); }},
      {.on_body = fail},
      {.on_body_end = [](HttpExchange&, const std::string&) { Fail(); }},
  };
  Start();
  for (size_t n = 0; n < faults.size(); ++n) {
    OnIoThread([&] { stream_ = faults[n]; });
    const size_t ends = record_.Count("end: ");
    RawClient client = ConnectAndSend(PostOf("abc"));
    const RawAnswer answer = client.Answer();
    EXPECT_EQ(answer.status, 500) << n;
    EXPECT_FALSE(Has(answer.body, "secret")) << "what went wrong is for the log";
    EXPECT_TRUE(client.AtEnd());
    if (n >= 2) {
      EXPECT_TRUE(record_.Await("end: answered 500", ends + 1)) << n;
    }
    ExpectService();
  }
}

TEST_F(StreamEndTest, AFaultInAnAnswerBreaksItOff) {
  stream_.on_body = [](HttpExchange& exchange, std::string_view) {
    exchange.Begin({.body = "begun"});
    Fail();
  };
  Start();
  RawClient client = ConnectAndSend(PostOf("abc"));
  EXPECT_EQ(client.Answer().status, 200);
  EXPECT_EQ(client.ReadChunks(), std::nullopt);
  ExpectEnd("a fault in the server");
  ExpectService();
}

TEST_F(StreamEndTest, AFaultInACallbackIsAnswered) {
  stream_.on_body_end = [](HttpExchange& exchange, const std::string&) {
    exchange.WhenPendingBelow(0, [] { Fail(); });
  };
  Start();
  RawClient client = ConnectAndSend(PostOf("abc"));
  EXPECT_EQ(client.Answer().status, 500);
  EXPECT_TRUE(client.AtEnd());
  ExpectEnd("answered 500");
  ExpectService();
}

TEST_F(StreamEndTest, AFaultInAPostedTaskEndsItsExchangeAlone) {
  const auto begin_and_post_a_fault = [](HttpExchange& exchange, const std::string& body) {
    if (body == "begin") exchange.Begin({.body = "begun"});
    exchange.poster()([] { Fail(); });
    exchange.poster()([] { ADD_FAILURE() << "it has ended"; });
  };
  stream_.on_body_end = begin_and_post_a_fault;
  Start();
  RawClient unanswered = ConnectAndSend(PostOf("wait"));
  EXPECT_EQ(unanswered.Answer().status, 500);
  EXPECT_TRUE(unanswered.AtEnd());
  ASSERT_TRUE(record_.Await("end: answered 500"));
  RawClient begun = ConnectAndSend(PostOf("begin"));
  EXPECT_EQ(begun.Answer().status, 200);
  EXPECT_EQ(begun.ReadChunks(), std::nullopt);
  ASSERT_TRUE(record_.Await("end: a fault in the server"));
  ExpectService();
}

// A task may throw anything.
TEST_F(StreamEndTest, AnUnknownFaultInAPostedTaskEndsItsExchangeAlone) {
  stream_.on_body_end = [](HttpExchange& exchange, const std::string&) { exchange.poster()([] { throw 1; }); };
  Start();
  RawClient client = ConnectAndSend(PostOf("x"));
  EXPECT_TRUE(client.AtEnd());
  ExpectEnd("a fault in the server");
  ExpectService();
}

// The handler may wait for the task.
TEST_F(StreamEndTest, WhereThereIsNoMemoryToPostATaskTheExchangeEnds) {
  HttpPoster post;
  stream_.on_body_end = [&](HttpExchange& exchange, const std::string&) { post = exchange.poster(); };
  Start();
  size_t times = 0;
  for (const auto fail : {FailAllocation, FailAlignedAllocation}) {
    RawClient client = ConnectAndSend(PostOf("abc"));
    ASSERT_TRUE(record_.Await("body end", ++times));
    OnIoThread([] {});  // the handler has returned
    const auto owned = std::make_shared<int>();
    fail(1);
    EXPECT_NO_THROW(post([owned] { ADD_FAILURE() << "it is lost"; }));
    EXPECT_TRUE(EndFailing());
    EXPECT_EQ(client.Answer().status, 500);
    EXPECT_TRUE(client.AtEnd());
    EXPECT_TRUE(record_.Await("end: answered 500", times));
  }
}

TEST_F(StreamEndTest, NoPostedTaskRunsAfterTheEnd) {
  HttpPoster post;
  stream_.on_body_end = nullptr;
  Start();
  RawClient client = ConnectAndSend(PostOf("x"));
  ASSERT_TRUE(record_.Await("body end"));
  OnIoThread([&] {
    post = exchange_->poster();
    exchange_->Abort("enough");
    post([] { ADD_FAILURE() << "aborted"; });
  });
  ExpectEnd("enough");
  const auto kept = std::make_shared<int>();
  post([kept] { ADD_FAILURE() << "ended"; });
  EXPECT_EQ(kept.use_count(), 1) << "nothing is kept";
  OnIoThread([] {});
  server_.reset();
  post([] { ADD_FAILURE() << "the server is gone"; });
}

TEST_F(StreamEndTest, PostersOfManyThreadsOutliveTheirExchanges) {
  std::mutex mutex;
  HttpPoster post = [](const auto&) {};
  std::atomic<bool> over = false;
  std::vector<std::thread> posting;
  for (int n = 0; n < 2; ++n) {
    posting.emplace_back([&] {
      while (!over) {
        const HttpPoster copy = [&] {
          const std::lock_guard lock(mutex);
          return post;
        }();
        copy([] {});
        std::this_thread::yield();
      }
    });
  }
  stream_.on_begin = [&](HttpExchange& exchange) {
    const std::lock_guard lock(mutex);
    post = exchange.poster();
  };
  Start();
  for (int n = 0; n < 50; ++n) {
    RawClient client = ConnectAndSend(PostOf("abc"));
    if (n % 2 == 0) {
      EXPECT_EQ(client.Answer().status, 201);
    }
  }
  server_.reset();
  over = true;
  for (std::thread& thread : posting) thread.join();
  EXPECT_EQ(record_.Count("POST /up"), record_.Count("end: "));
}

TEST_F(StreamEndTest, AFaultOnTheWayOutLetsTheServerGo) {
  stream_.on_shutdown = [](HttpExchange&) { Fail(); };
  stream_.on_end = [] { Fail(); };
  Start();
  RawClient client = ConnectAndSend(PostChunks("1\r\na\r\n"));
  ASSERT_TRUE(record_.Await("body"));
  auto shutdown = std::async(std::launch::async, [&] { server_->Shutdown(minutes(10)); });
  EXPECT_EQ(shutdown.wait_for(std::chrono::minutes(1)), std::future_status::ready);
  ExpectEnd("answered 500");
}

}  // namespace
}  // namespace weir
