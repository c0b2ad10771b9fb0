// Everything that a port refuses, over either version of HTTP, has one form.
#include "relay/net/http_error.h"

#include <stdexcept>
#include <string>
#include <variant>

#include "config/text/utf8.h"
#include "relay/net/http_stream.h"
#include "tests/relay/net/http2_fixture.h"

namespace weir {
namespace {

class HttpErrorTest : public ServerTest {
 protected:
  HttpErrorTest() {
    settings_.max_http_body_bytes = 10'000;
    router_.Add("POST", "/take", [](const HttpRequest& r) { return HttpResponse{.body = r.body}; });
    router_.Add("GET", "/fault", [](const HttpRequest&) -> HttpResponse { throw std::runtime_error("secret"); });
    router_.Add("GET", "/plain",
                [](const HttpRequest&) { return HttpResponse{.status = 409, .body = "it cannot be:\nnot now\n"}; });
    router_.AddDeferred("GET", "/later", [](const HttpRequest&, const HttpReply& reply) {
      reply({.status = 503, .body = "later\n", .headers = {{"Retry-After", "5"}}});
    });
    router_.AddDeferred("GET", "/dropped", [](const HttpRequest&, const HttpReply&) {});
    router_.AddStream("POST", "/up", [](const HttpRequest&, HttpExchange&) {
      return HttpResponse{.status = 415, .body = "not this\n"};
    });
  }
  ~HttpErrorTest() override { server_.reset(); }

  static void ExpectError(const RawAnswer& answer, int status, std::string_view code) {
    EXPECT_EQ(answer.status, status) << answer.body;
    const auto type = answer.headers.find("content-type");
    EXPECT_EQ(type == answer.headers.end() ? "" : type->second, "application/json") << status;
    EXPECT_TRUE(answer.body.starts_with(R"({"error":{"code":")" + std::string(code) + R"(","message":")"))
        << answer.body;
    EXPECT_TRUE(answer.body.ends_with("\"}}\n")) << answer.body;
    EXPECT_TRUE(IsUtf8(answer.body)) << answer.body;
  }
};

TEST_F(HttpErrorTest, IsOfOneFormOverHttp1) {
  Start();
  const std::string rest = " HTTP/1.1\r\nHost: x\r\n";
  const struct {
    std::string request;
    int status;
    std::string_view code;
  } cases[] = {{"GET /nowhere" + rest + "\r\n", 404, "not_found"},
               {"GET /take" + rest + "\r\n", 405, "method_not_allowed"},
               {"GET /plain" + rest + "\r\n", 409, "conflict"},
               {"GET /later" + rest + "\r\n", 503, "unavailable"},
               {"GET /dropped" + rest + "\r\n", 500, "internal"},
               {"GET /fault" + rest + "\r\n", 500, "internal"},
               {"POST /up" + rest + "Content-Length: 5\r\n\r\nhello", 415, "unsupported_media_type"},
               {"POST /up" + rest + "\r\n", 411, "invalid_request"},
               {"POST /take" + rest + "Content-Length: 10001\r\n\r\n", 413, "body_too_long"},
               {"POST /take" + rest + "Transfer-Encoding: gzip\r\n\r\n", 501, "invalid_request"},
               {"GET /" + rest + "X: " + std::string(20'000, 'x') + "\r\n\r\n", 431, "headers_too_long"},
               {"GET / HTTP/1.1\r\n\r\n", 400, "invalid_request"},
               {"GET /%zz" + rest + "\r\n", 400, "invalid_request"},
               {"GET /%FFnowhere" + rest + "\r\n", 404, "not_found"},
               {"what?\r\n\r\n", 400, "invalid_request"},
               {"GET /chat" + rest + "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n", 404, "not_found"},
               {"GET /" + rest + "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n", 400, "invalid_request"}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.request.substr(0, 60));
    RawClient client = ConnectAndSend(c.request);
    ExpectError(client.Answer(), c.status, c.code);
  }
}

TEST_F(HttpErrorTest, IsOfOneFormOverHttp2) {
  Start();
  Http2Peer peer(Connect());
  ExpectError(peer.Fetch("GET", "/nowhere"), 404, "not_found");
  ExpectError(peer.Fetch("GET", "/plain"), 409, "conflict");
  ExpectError(peer.Fetch("GET", "/later"), 503, "unavailable");
  ExpectError(peer.Fetch("GET", "/fault"), 500, "internal");
  ExpectError(peer.Fetch("POST", "/up", "hello"), 415, "unsupported_media_type");
  ExpectError(peer.Fetch("POST", "/take", std::string(10'001, 'x')), 413, "body_too_long");
  ExpectError(peer.Fetch("GET", "/", "", {{"x-long", std::string(17'000, 'x')}}), 431, "headers_too_long");
}

TEST_F(HttpErrorTest, TellsAPlainErrorInOneLineAndKeepsItsFields) {
  Start();
  RawClient client = ConnectAndSend("GET /plain HTTP/1.1\r\nHost: x\r\n\r\nGET /later HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.Answer().body, "{\"error\":{\"code\":\"conflict\",\"message\":\"it cannot be: not now\"}}\n");
  EXPECT_EQ(client.Answer().headers["retry-after"], "5");
}

TEST_F(HttpErrorTest, IsOfOneFormWhereAConnectionGetsNoPlace) {
  settings_.max_connections_per_address = 1;
  Start();
  const RawClient first = Connect("127.0.0.9");
  RawClient second = Connect("127.0.0.9");
  second.Send("GET /plain HTTP/1.1\r\nHost: x\r\n\r\n");
  ExpectError(second.Answer(), 503, "unavailable");
}

TEST(HttpError, IsUnchangedIfItHasAFormOfItsOwn) {
  EXPECT_EQ(PlainErrorAsJson({.status = 401, .content_type = "text/html", .body = "<p>"}).body, "<p>");
  EXPECT_EQ(PlainErrorAsJson({.status = 200, .body = "well\n"}).body, "well\n");
  const HttpResponse made = ErrorResponse(429, "window_full", "no");
  EXPECT_EQ(PlainErrorAsJson(made).body, made.body);
}

}  // namespace
}  // namespace weir
