// Requests and answers in pieces that go as they should.
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <rapidcheck/gtest.h>
#include <sys/ioctl.h>

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "tests/relay/net/stream_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

using HttpStreamTest = StreamTest;

TEST_F(HttpStreamTest, TakesABodyOfAKnownLength) {
  Start();
  RawClient client = ConnectAndSend("POST /up?a=b HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n0123456789");
  const RawAnswer answer = client.Answer();
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.headers.at("transfer-encoding"), "chunked");
  EXPECT_EQ(answer.headers.at("connection"), "close");
  EXPECT_EQ(answer.headers.at("content-type"), "text/plain; charset=utf-8");
  EXPECT_EQ(answer.headers.count("content-length"), 0U);
  EXPECT_EQ(client.ReadChunks(), "0123456789");
  EXPECT_TRUE(client.AtEnd());
  EXPECT_EQ(record_.Count("POST /up ?a=b 127.0.0.1 127.0.0.1 0"), 1U);
  EXPECT_EQ(record_.Count("body end"), 1U);
  ExpectEnd("answered 201");
  EXPECT_EQ(server_->Stats().http_requests, 1U);
  EXPECT_GT(server_->Stats().received_bytes, 10U);
  EXPECT_GT(server_->Stats().sent_bytes, 10U);
}

TEST_F(HttpStreamTest, TakesChunksByteByByte) {
  Start();
  RawClient client = Connect();
  for (const char c : PostChunks("3\r\nabc\r\n0a;x=y\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n"))
    ASSERT_TRUE(client.Send({&c, 1}));
  EXPECT_EQ(client.Answer().status, 201);
  EXPECT_EQ(client.ReadChunks(), "abc0123456789");
}

RC_GTEST_FIXTURE_PROP(HttpStreamTest, TakesTheSameBytesHoweverTheyAreSent, ()) {
  Start();
  const std::string body = *rc::gen::container<std::string>(*rc::gen::inRange(0, 3000), rc::gen::arbitrary<char>());
  std::string request;
  if (*rc::gen::arbitrary<bool>()) {
    request = PostOf(body);
  } else {
    std::string chunks;
    for (size_t at = 0; at < body.size();) {
      const size_t bytes = std::min<size_t>(*rc::gen::inRange(1, 1000), body.size() - at);
      char size[16];
      std::snprintf(size, sizeof size, "%zx\r\n", bytes);
      chunks += size + body.substr(at, bytes) + "\r\n";
      at += bytes;
    }
    request = PostChunks(chunks + "0\r\n\r\n");
  }
  RawClient client = Connect();
  for (size_t at = 0; at < request.size();) {
    const size_t bytes = *rc::gen::inRange<size_t>(1, 500);
    RC_ASSERT(client.Send(std::string_view(request).substr(at, bytes)));
    at += bytes;
  }
  RC_ASSERT(client.Answer().status == 201);
  RC_ASSERT(client.ReadChunks() == body);
}

TEST_F(HttpStreamTest, ARequestWithoutABodyEndsAtOnce) {
  Start();
  RawClient client = ConnectAndSend(Get("/down"));
  EXPECT_EQ(client.Answer().status, 201);
  EXPECT_EQ(client.ReadChunks(), "");
  EXPECT_EQ(record_.Count("body end"), 1U);
}

TEST_F(HttpStreamTest, AnUploadSaysWhereItEnds) {
  Start();
  const struct {
    std::string headers;
    int status;
  } cases[] = {
      {"", 411},
      {"Expect: 100-continue\r\n", 411},
      {"Transfer-Encoding: gzip\r\n", 501},
      {"Transfer-Encoding: gzip, chunked\r\n", 501},
      {"Transfer-Encoding: identity\r\nContent-Length: 3\r\n", 501},
  };
  for (const auto& c : cases) {
    for (const std::string version : {"1.1", "1.0"}) {
      RawClient client = ConnectAndSend("POST /up HTTP/" + version + "\r\nHost: x\r\n" + c.headers + "\r\nabc");
      EXPECT_EQ(client.Answer().status, c.status) << version << " " << c.headers;
      EXPECT_TRUE(client.AtEnd());
    }
  }
  EXPECT_TRUE(record_.events().empty()) << "no handler has seen one";
  RawClient empty = ConnectAndSend(Post("Content-Length: 0\r\n"));
  EXPECT_EQ(empty.Answer().status, 201);
}

TEST_F(HttpStreamTest, PostedTasksRunInOrderOnLaterTurnsOfTheIoThread) {
  std::string order;
  std::vector<std::thread::id> threads;
  stream_.on_body_end = [&](HttpExchange& exchange, const std::string&) {
    exchange.Begin({});
    const HttpPoster post = exchange.poster();
    for (const char c : {'a', 'b', 'c'}) {
      post([&, c] {
        order += c;
        threads.push_back(std::this_thread::get_id());
        exchange.Write({&c, 1});
      });
    }
    order += '-';
    post([&, post] { post([&] { exchange.End(); }); });
  };
  Start();
  RawClient client = ConnectAndSend(PostOf("x"));
  EXPECT_EQ(client.Answer().status, 200);
  EXPECT_EQ(client.ReadChunks(), "abc");
  OnIoThread([&] {
    EXPECT_EQ(order, "-abc");
    EXPECT_EQ(threads, std::vector(3, std::this_thread::get_id()));
  });
}

TEST_F(HttpStreamTest, AnotherThreadWritesThroughAPoster) {
  HttpPoster post;
  stream_.on_body_end = [&](HttpExchange& exchange, const std::string&) {
    exchange.Begin({});
    post = exchange.poster();
  };
  Start();
  RawClient client = ConnectAndSend(PostOf("x"));
  EXPECT_EQ(client.Answer().status, 200);
  post([this] {
    exchange_->Write("from afar");
    exchange_->End();
  });
  EXPECT_EQ(client.ReadChunks(), "from afar");
  ExpectEnd("answered 200");
}

TEST_F(HttpStreamTest, SaysContinueIfAsked) {
  Start();
  RawClient client = ConnectAndSend(Post("Content-Length: 2\r\nExpect: 100-Continue\r\n"));
  EXPECT_EQ(client.Answer().status, 100);
  client.Send("ok");
  EXPECT_EQ(client.Answer().status, 201);
  EXPECT_EQ(client.ReadChunks(), "ok");
}

TEST_F(HttpStreamTest, ARefusalComesInsteadOfContinue) {
  stream_.refuse = [](const HttpRequest&) { return HttpResponse{.status = 403, .body = "no"}; };
  Start();
  RawClient client = ConnectAndSend(Post("Content-Length: 2\r\nExpect: 100-continue\r\n"));
  EXPECT_EQ(client.Answer().status, 403);
  EXPECT_TRUE(client.AtEnd());
}

TEST_F(HttpStreamTest, ARefusalReachesAClientThatSendsOn) {
  stream_.refuse = [](const HttpRequest&) { return HttpResponse{.status = 403, .body = "no"}; };
  Start();
  RawClient client = ConnectAndSend(PostOf(std::string(3'000'000, 'x')));
  const RawAnswer answer = client.Answer();
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(answer.body, "{\"error\":{\"code\":\"forbidden\",\"message\":\"no\"}}\n");
  EXPECT_TRUE(client.AtEnd());
  EXPECT_FALSE(client.was_reset());
  EXPECT_EQ(record_.Count("body"), 0U);
}

TEST_F(HttpStreamTest, AnAnswerMayEndBeforeTheBody) {
  stream_.on_body = [](HttpExchange& exchange, std::string_view piece) {
    exchange.Begin({.status = 400, .body = "enough"});
    exchange.End();
    EXPECT_EQ(piece.find_first_not_of('x'), piece.npos) << "the piece is good until the call returns";
    exchange.Write("too late");
    exchange.End();
  };
  Start();
  RawClient client = ConnectAndSend(PostOf(std::string(3'000'000, 'x')));
  EXPECT_EQ(client.Answer().status, 400);
  EXPECT_EQ(client.ReadChunks(), "enough");
  EXPECT_TRUE(client.AtEnd());
  EXPECT_FALSE(client.was_reset());
  EXPECT_EQ(record_.Count("body"), 1U);
  ExpectEnd("answered 400");
}

TEST_F(HttpStreamTest, AnAnswerMayBeginBeforeTheBodyEnds) {
  stream_.on_begin = [](HttpExchange& exchange) { exchange.Begin({}); };
  stream_.on_body = [](HttpExchange& exchange, std::string_view piece) { exchange.Write(piece); };
  stream_.on_body_end = [](HttpExchange& exchange, const std::string&) { exchange.End(); };
  Start();
  RawClient client = ConnectAndSend(PostChunks(""));
  EXPECT_EQ(client.Answer().status, 200);
  for (const std::string word : {"a", "bc", "def"}) {
    client.Send(std::to_string(word.size()) + "\r\n" + word + "\r\n");
    EXPECT_EQ(client.ReadChunk(), word);
  }
  client.Send("0\r\n\r\n");
  EXPECT_EQ(client.ReadChunk(), "");
  EXPECT_TRUE(client.AtEnd());
}

TEST_F(HttpStreamTest, OldHttpIsAnsweredUntilTheConnectionCloses) {
  Start();
  RawClient client = ConnectAndSend("POST /up HTTP/1.0\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello");
  const RawAnswer answer = client.Answer();
  EXPECT_EQ(answer.headers.count("transfer-encoding"), 0U);
  EXPECT_EQ(answer.headers.at("connection"), "close");
  EXPECT_EQ(client.ReadToEnd(), "hello");
  EXPECT_FALSE(client.was_reset());
}

TEST_F(HttpStreamTest, APauseHoldsTheSenderBackUntilAllAreResumed) {
  constexpr size_t kBytes = size_t{32} << 20;
  size_t taken = 0;
  stream_.on_body = [&](HttpExchange& exchange, std::string_view piece) {
    if (taken == 0) {
      exchange.PauseBody();
      exchange.PauseBody();
    }
    taken += piece.size();
  };
  stream_.on_body_end = [&](HttpExchange& exchange, const std::string&) {
    exchange.Begin({.body = std::to_string(taken)});
    exchange.End();
  };
  Start();
  RawClient client = Connect();
  std::thread sender([&] { EXPECT_TRUE(client.Send(PostOf(std::string(kBytes, 'x')))); });
  ASSERT_TRUE(record_.Await("body"));
  const auto expect_held = [&] {
    EXPECT_TRUE(Eventually([&] {
      int waiting = 0;
      return ioctl(client.socket(), SIOCOUTQ, &waiting) == 0 && waiting > 0;
    }));
    EXPECT_LE(server_->Stats().received_bytes, (64U << 10) + 1000) << "one piece, and then no more";
  };
  expect_held();
  OnIoThread([&] { exchange_->ResumeBody(); });
  ExpectService();
  expect_held();
  OnIoThread([&] { exchange_->ResumeBody(); });
  sender.join();
  EXPECT_EQ(client.Answer().status, 200);
  EXPECT_EQ(client.ReadChunks(), std::to_string(kBytes));
}

TEST_F(HttpStreamTest, APauseTakesEffectBetweenChunks) {
  size_t pieces = 0;
  stream_.on_body = [&](HttpExchange& exchange, std::string_view) {
    ++pieces;
    exchange.PauseBody();
  };
  Start();
  RawClient client = ConnectAndSend(PostChunks("1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\n\r\n"));
  for (size_t n = 1; n <= 3; ++n) {
    ASSERT_TRUE(record_.Await("body", n));
    OnIoThread([&] {
      EXPECT_EQ(pieces, n);
      exchange_->ResumeBody();
    });
  }
  EXPECT_EQ(client.Answer().status, 201);
}

TEST_F(HttpStreamTest, HeadIsTheHeadOfGet) {
  stream_.on_body_end = [](HttpExchange& exchange, const std::string&) {
    exchange.Begin({.body = "x"});
    exchange.Write("y");
    exchange.End();
  };
  Start();
  RawClient client = ConnectAndSend("HEAD /down HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.Answer().status, 200);
  EXPECT_TRUE(client.AtEnd());
  EXPECT_EQ(record_.Count("HEAD /down"), 1U);
  ExpectEnd("answered 200");
}

TEST_F(HttpStreamTest, OtherMethodsAreAnsweredAsOnAnyPath) {
  router_.Add("GET", "/up", [](const HttpRequest&) { return HttpResponse{.body = "a form"}; });
  Start();
  RawClient client = Connect();
  client.Send("DELETE /up HTTP/1.1\r\nHost: x\r\n\r\n" + Get("/up") + "PUT /down HTTP/1.1\r\nHost: x\r\n\r\n" +
              "OPTIONS /down HTTP/1.1\r\nHost: x\r\n\r\n" + Get("/downs"));
  const RawAnswer wrong = client.Answer();
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.headers.at("allow"), "GET, HEAD, POST, OPTIONS");
  EXPECT_EQ(client.Answer().body, "a form");
  EXPECT_EQ(client.Answer().headers.at("allow"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(client.Answer().status, 204);
  EXPECT_EQ(client.Answer().status, 404);
  EXPECT_TRUE(record_.events().empty());
}

TEST_F(HttpStreamTest, FollowsPlainRequestsAndIsTheLast) {
  Start();
  RawClient client = ConnectAndSend(Get("/") + PostOf("abc") + Get("/"));
  EXPECT_EQ(client.Answer().body, "landing");
  EXPECT_EQ(client.Answer().status, 201);
  EXPECT_EQ(client.ReadChunks(), "abc");
  EXPECT_TRUE(client.AtEnd());
  EXPECT_FALSE(client.was_reset());
  EXPECT_EQ(server_->Stats().http_requests, 2U);
}

TEST_F(HttpStreamTest, PlainBodiesAreBoundedAndStreamsAreNot) {
  settings_.max_http_body_bytes = 1000;
  Start();
  const std::string body(5'000'000, 'x');
  for (const std::string& request : {PostOf(body), PostChunks("4c4b40\r\n" + body + "\r\n0\r\n\r\n")}) {
    RawClient client = ConnectAndSend(request);
    EXPECT_EQ(client.Answer().status, 201);
    EXPECT_EQ(client.ReadChunks(), body);
  }
  for (const std::string more : {"Content-Length: 1001\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n3e9\r\n"}) {
    RawClient client = ConnectAndSend("POST /take HTTP/1.1\r\nHost: x\r\n" + more);
    EXPECT_EQ(client.Answer().status, 413);
  }
}

TEST_F(HttpStreamTest, MayTakeLongerThanAHandshake) {
  settings_.handshake_timeout = std::chrono::seconds(1);
  Start();
  RawClient client = ConnectAndSend(Post("Content-Length: 2\r\n") + "a");
  ASSERT_TRUE(record_.Await("body"));
  RawClient silent = Connect();
  EXPECT_EQ(silent.Answer().status, 408);
  client.Send("b");
  EXPECT_EQ(client.Answer().status, 201);
}

}  // namespace
}  // namespace weir
