#include <boost/asio/post.hpp>
#include <future>

#include "tests/relay/net/server_fixture.h"

namespace weir {
namespace {

class HttpTest : public ServerTest {
 protected:
  HttpTest() {
    router_.Add("GET", "/", [](const HttpRequest&) { return HttpResponse{.body = "landing"}; });
    router_.Add("GET", "/echo path", [](const HttpRequest& r) {
      return HttpResponse{.body = r.method + " " + r.path + " ?" + r.query + " " + r.address + " " +
                                  std::string(r.Header("x-thing"))};
    });
    router_.Add("POST", "/take", [](const HttpRequest& r) { return HttpResponse{.status = 201, .body = r.body}; });
    router_.Add("GET", "/fault", [](const HttpRequest&) -> HttpResponse { throw std::runtime_error("secret"); });
    router_.AddForAccept("application/nostr+json", [](const HttpRequest&) {
      return HttpResponse{.content_type = "application/nostr+json", .body = "{}"};
    });
  }

  static std::string Post(const std::string& fields, const std::string& body = "") {
    return "POST /take HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n" + body;
  }
};

TEST_F(HttpTest, AnswersARoute) {
  Start();
  const RawAnswer answer = Ask(Get("/echo%20path?a=%20b", "X-Thing: Value\r\n"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "GET /echo path ?a=%20b 127.0.0.1 Value");
  EXPECT_EQ(answer.headers.at("server"), "weir");
  EXPECT_EQ(answer.headers.at("content-type"), "text/plain; charset=utf-8");
  EXPECT_EQ(answer.headers.count("date"), 1U);
  EXPECT_EQ(server_->Stats().http_requests, 1U);
}

TEST_F(HttpTest, KeepsTheConnectionAndAnswersInOrder) {
  Start();
  RawClient client = ConnectAndSend(Get("/") + Get("/nowhere") + Get("/"));
  EXPECT_EQ(client.Answer().status, 200);
  EXPECT_EQ(client.Answer().status, 404);
  EXPECT_EQ(client.Answer().headers.at("connection"), "keep-alive");
  client.Send(Get("/", "Connection: close\r\n"));
  EXPECT_EQ(client.Answer().headers.at("connection"), "close");
  EXPECT_TRUE(client.AtEnd());
  RawClient old = ConnectAndSend("GET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.Answer().body, "landing");
  EXPECT_TRUE(old.AtEnd());
}

TEST_F(HttpTest, ARequestMayComeByteByByteAndAWebSocketAfterIt) {
  Start();
  RawClient client = Connect();
  for (const char c : Get("/") + Post("Content-Length: 5\r\n", "hello")) ASSERT_TRUE(client.Send({&c, 1}));
  EXPECT_EQ(client.Answer().body, "landing");
  EXPECT_EQ(client.Answer().body, "hello");
  EXPECT_TRUE(client.Handshake());
  ExpectEcho(client, "x");
}

TEST_F(HttpTest, TakesABodyInChunksAndAfterContinue) {
  Start();
  EXPECT_EQ(Ask(Post("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")).body, "abcde");
  RawClient client = ConnectAndSend(Post("Content-Length: 2\r\nExpect: 100-continue\r\n"));
  EXPECT_EQ(client.Answer().status, 100);
  client.Send("ok");
  EXPECT_EQ(client.Answer().status, 201);
}

TEST_F(HttpTest, HeadHasTheLengthAndNoBody) {
  Start();
  RawClient client = ConnectAndSend("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n" + Get("/nowhere"));
  const RawAnswer head = client.Answer(false);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("content-length"), "7");
  EXPECT_EQ(client.Answer().status, 404);
}

TEST_F(HttpTest, SaysWhatAPathTakes) {
  Start();
  EXPECT_EQ(Ask(Get("/nowhere")).status, 404);
  const RawAnswer answer = Ask("DELETE / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(answer.status, 405);
  EXPECT_EQ(answer.headers.at("allow"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(Ask(Get("/take")).headers.at("allow"), "POST, OPTIONS");
}

TEST_F(HttpTest, TheDocumentForAnAcceptIsOnAnyPathAndReadableByAnyPage) {
  Start();
  for (const std::string accept :
       {"application/nostr+json", "text/html;q=0.5, Application/Nostr+JSON; charset=utf-8"}) {
    const RawAnswer answer = Ask(Get("/some/where", "Accept: " + accept + "\r\n"));
    EXPECT_EQ(answer.body, "{}");
    EXPECT_EQ(answer.headers.at("content-type"), "application/nostr+json");
    EXPECT_EQ(answer.headers.at("access-control-allow-origin"), "*");
  }
  EXPECT_EQ(Ask(Get("/", "Accept: text/html\r\n")).body, "landing");
  const RawAnswer preflight =
      Ask("OPTIONS / HTTP/1.1\r\nHost: x\r\nOrigin: https://a\r\nAccess-Control-Request-Method: GET\r\n\r\n");
  EXPECT_EQ(preflight.status, 204);
  EXPECT_EQ(preflight.headers.at("access-control-allow-origin"), "*");
  EXPECT_EQ(preflight.headers.count("content-length"), 0U);
}

TEST_F(HttpTest, RefusesWhatIsTooLong) {
  settings_.max_http_body_bytes = 1000;
  Start();
  const std::string long_text(17'000, 'x');
  const struct {
    const char* name;
    std::string request;
    int status;
  } cases[] = {
      {"a header", Get("/", "X-Long: " + long_text + "\r\n"), 431},
      {"a path", Get("/" + long_text), 431},
      {"a body, from its length", Post("Content-Length: 1001\r\n"), 413},
      {"a body, from a chunk", Post("Transfer-Encoding: chunked\r\n", "3e9\r\n" + std::string(1001, 'x')), 413},
  };
  for (const auto& c : cases) EXPECT_EQ(StatusOf(c.request), c.status) << c.name;
  EXPECT_EQ(Ask(Post("Content-Length: 1000\r\n", std::string(1000, 'x'))).body.size(), 1000U);
}

TEST_F(HttpTest, RefusesWhatIsNoRequest) {
  Start();
  const struct {
    const char* name;
    std::string request;
  } cases[] = {
      {"no path", "GET\r\n\r\n"},
      {"no Host", "GET / HTTP/1.1\r\n\r\n"},
      {"two Hosts", Get("/", "Host: y\r\n")},
      {"a path that does not begin with /", Get("nowhere")},
      {"an escape of no hexadecimal digits", Get("/%zz")},
      {"an escaped zero", Get("/%00")},
      {"half an escape", Get("/%2")},
      {"a negative length", Post("Content-Length: -1\r\n")},
      {"two lengths", Post("Content-Length: 1\r\nContent-Length: 2\r\n", "x")},
      {"a length and chunks", Post("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")},
  };
  for (const auto& c : cases) EXPECT_EQ(StatusOf(c.request), 400) << c.name;
  EXPECT_EQ(server_->Stats().http_errors, std::size(cases));
  EXPECT_EQ(server_->Stats().handshake_failures, 0U);
  const RawAnswer told = Ask("GET / HTTP/1.1\r\nbad header\r\n\r\n");
  EXPECT_EQ(told.status, 400);
  EXPECT_TRUE(Has(told.body, "not a request")) << told.body;
}

// If it were taken for no body, the body would be lost, or be the next request.
TEST_F(HttpTest, ACodingOfTheBodyThatIsUnknownIsNotImplemented) {
  Start();
  const std::vector<std::string> unknown = {"Transfer-Encoding: gzip\r\n",
                                            "Transfer-Encoding: identity\r\n",
                                            "Transfer-Encoding: gzip, chunked\r\n",
                                            "Transfer-Encoding: chunked, gzip\r\n",
                                            "Transfer-Encoding: xchunked\r\n",
                                            "Transfer-Encoding: chunked;q=1\r\n",
                                            "Transfer-Encoding: \r\n",
                                            "Transfer-Encoding: gzip\r\nContent-Length: 5\r\n"};
  for (const std::string& coding : unknown) {
    for (const std::string version : {"1.1", "1.0"}) {
      for (const std::string request : {"POST /take", "GET /", "DELETE /nowhere"}) {
        RawClient client = Connect();
        std::string text = request;
        text.append(" HTTP/").append(version).append("\r\nHost: x\r\n").append(coding).append("\r\n");
        client.Send(text + Get("/"));
        EXPECT_EQ(client.Answer().status, 501) << request << " " << version << " " << coding;
        EXPECT_TRUE(client.AtEnd());
      }
    }
  }
  EXPECT_EQ(Ask(Post("Transfer-Encoding:  CHUNKED \r\n", "1\r\na\r\n0\r\n\r\n")).body, "a");
  EXPECT_EQ(Ask(Post("")).status, 201) << "no body is one of no bytes";
}

TEST_F(HttpTest, ChunksOverAnOldVersionEndTheConnection) {
  Start();
  RawClient client = Connect();
  client.Send("POST /take HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n" +
              Get("/"));
  EXPECT_EQ(client.Answer().body, "a");
  EXPECT_TRUE(client.AtEnd());
}

TEST_F(HttpTest, AFaultInAHandlerIsItsRequestsOwn) {
  Start();
  RawClient client = ConnectAndSend(Get("/fault") + Get("/"));
  const RawAnswer answer = client.Answer();
  EXPECT_EQ(answer.status, 500);
  EXPECT_FALSE(Has(answer.body, "secret")) << "what went wrong is for the log";
  EXPECT_EQ(client.Answer().status, 200);
}

TEST_F(HttpTest, APathCannotBeginALineOfTheLog) {
  router_.Add("GET", "/a\nb", [](const HttpRequest&) -> HttpResponse { throw std::runtime_error("c\nd"); });
  Start();
  testing::internal::CaptureStdout();
  EXPECT_EQ(Ask(Get("/a%0ab")).status, 500);
  const std::string log = testing::internal::GetCapturedStdout();
  EXPECT_TRUE(Has(log, "GET /a\\x0ab failed: c\\x0ad\n")) << log;
}

TEST_F(HttpTest, RequestsSentAheadLeaveTurnsToOthers) {
  size_t answered = 0;
  size_t before_the_other = 0;
  std::promise<void> asked;
  router_.Add("GET", "/count", [&](const HttpRequest&) {
    if (answered++ == 0) {
      boost::asio::post(server_->executor(0), [&] {
        before_the_other = answered;
        asked.set_value();
      });
    }
    return HttpResponse();
  });
  Start();
  std::string requests;
  for (int n = 0; n < 100; ++n) requests += Get("/count");
  RawClient client = ConnectAndSend(requests);
  client.HalfClose();
  ASSERT_EQ(asked.get_future().wait_for(std::chrono::minutes(1)), std::future_status::ready);
  EXPECT_LE(before_the_other, 16U);
  for (int n = 0; n < 100; ++n) ASSERT_EQ(client.Answer().status, 200) << n;
  EXPECT_TRUE(client.AtEnd());
}

TEST_F(HttpTest, AnIdleConnectionIsClosedWithoutAWord) {
  settings_.handshake_timeout = std::chrono::seconds(1);
  Start();
  RawClient client = ConnectAndSend(Get("/"));
  EXPECT_EQ(client.Answer().status, 200);
  EXPECT_TRUE(client.AtEnd());
  EXPECT_EQ(server_->Stats().http_errors, 0U);
}

TEST_F(HttpTest, AnswersThatAreNotTakenHoldTheRequestsBack) {
  router_.Add("GET", "/big", [](const HttpRequest&) { return HttpResponse{.body = std::string(1 << 20, 'x')}; });
  Start();
  RawClient client(server_->port(), "127.0.0.1", 4096);
  std::string requests;
  for (int n = 0; n < 30; ++n) requests += Get("/big");
  client.Send(requests);
  ASSERT_TRUE(Eventually([&] { return server_->Stats().http_requests > 0; }));
  EXPECT_LT(server_->Stats().http_requests, 30U);
  for (int n = 0; n < 30; ++n) ASSERT_EQ(client.Answer().body.size(), 1U << 20) << n;
}

// The server reads the next request only if it has resumed reading as often as it paused. How often a large answer
// makes it pause depends on how much the socket takes at once, so there are several of each size.
TEST_F(HttpTest, ReadsOnAfterAnswersThatDoNotFitIntoTheSocket) {
  router_.Add("GET", "/big", [](const HttpRequest& request) {
    return HttpResponse{.body = std::string(std::stoul(request.query), 'x')};
  });
  Start();
  RawClient client(server_->port(), "127.0.0.1");
  for (int n = 0; n < 8; ++n) {
    for (const size_t bytes : {700'000, 1'200'000, 3'000'000}) {
      client.Send(Get("/big?" + std::to_string(bytes)));
      ASSERT_EQ(client.Answer().body.size(), bytes) << n;
    }
  }
}

TEST_F(HttpTest, AHalfClosedClientThatReadsSlowlyGetsAllOfItsAnswer) {
  router_.Add("GET", "/big", [](const HttpRequest&) { return HttpResponse{.body = std::string(20 << 20, 'x')}; });
  Start();
  RawClient client(server_->port(), "127.0.0.1", 4096);
  client.Send(Get("/big", "Connection: close\r\n"));
  client.HalfClose();
  EXPECT_EQ(client.Answer().body.size(), 20U << 20);
  EXPECT_TRUE(client.AtEnd());
  EXPECT_FALSE(client.was_reset());
}

TEST_F(HttpTest, ARefusedBodyDoesNotCostTheClientTheAnswer) {
  settings_.max_http_body_bytes = 1000;
  Start();
  RawClient client = ConnectAndSend(Post("Content-Length: 3000000\r\n", std::string(3'000'000, 'x')));
  EXPECT_EQ(client.Answer().status, 413);
  EXPECT_TRUE(client.AtEnd());
  EXPECT_FALSE(client.was_reset());
}

TEST_F(HttpTest, AHalfClosedClientGetsItsAnswer) {
  Start();
  RawClient client = ConnectAndSend(Get("/"));
  client.HalfClose();
  EXPECT_EQ(client.Answer().body, "landing");
  EXPECT_TRUE(client.AtEnd());
}

}  // namespace
}  // namespace weir
