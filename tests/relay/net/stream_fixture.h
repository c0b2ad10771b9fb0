// StreamTest: a server with two streaming routes, POST /up and GET /down. Their handlers record all calls.
#pragma once

#include <algorithm>
#include <boost/asio/post.hpp>
#include <future>
#include <optional>
#include <stdexcept>
#include <variant>

#include "relay/net/http_stream.h"
#include "tests/relay/net/server_fixture.h"

namespace weir {

// The functions that a test gives to a handler. By default the handler sends the whole body back when it has ended.
struct StreamBehaviour {
  std::function<std::optional<HttpResponse>(const HttpRequest&)> refuse;
  std::function<void(HttpExchange&)> on_begin;
  std::function<void(HttpExchange&, std::string_view)> on_body;
  std::function<void(HttpExchange&, const std::string& body)> on_body_end = [](HttpExchange& exchange,
                                                                               const std::string& body) {
    exchange.Begin({.status = 201, .body = body.substr(0, 3)});
    exchange.Write(body.substr(std::min<size_t>(3, body.size())));
    exchange.End();
  };
  std::function<void(HttpExchange&)> on_shutdown;
  std::function<void()> on_end;
};

class RecordingStream final : public HttpStreamHandler {
 public:
  RecordingStream(HttpExchange& exchange, const StreamBehaviour& behaviour, Record& record)
      : exchange_(exchange), behaviour_(behaviour), record_(record) {
    if (behaviour_.on_begin) behaviour_.on_begin(exchange_);
  }
  void OnBody(std::string_view piece) override {
    record_.Add("body");
    if (behaviour_.on_body) {
      behaviour_.on_body(exchange_, piece);
    } else {
      body_ += piece;
    }
  }
  void OnBodyEnd() override {
    record_.Add("body end");
    if (behaviour_.on_body_end) behaviour_.on_body_end(exchange_, body_);
  }
  void OnShutdown() override {
    record_.Add("shutdown");
    if (behaviour_.on_shutdown) behaviour_.on_shutdown(exchange_);
  }
  void OnEnd(std::string_view cause) override {
    record_.Add("end: " + std::string(cause));
    if (behaviour_.on_end) behaviour_.on_end();
  }

 private:
  HttpExchange& exchange_;
  const StreamBehaviour& behaviour_;
  Record& record_;
  std::string body_;
};

class StreamTest : public ServerTest {
 protected:
  StreamTest() {
    const HttpStreamFactory factory =
        [this](const HttpRequest& head,
               HttpExchange& exchange) -> std::variant<HttpResponse, std::shared_ptr<HttpStreamHandler>> {
      record_.Add(head.method + " " + head.path + " ?" + head.query + " " + head.address + " " + head.peer + " " +
                  std::to_string(head.body.size()));
      if (stream_.refuse)
        if (auto refusal = stream_.refuse(head)) return *std::move(refusal);
      exchange_ = &exchange;
      return std::make_shared<RecordingStream>(exchange, stream_, record_);
    };
    router_.AddStream("POST", "/up", factory);
    router_.AddStream("GET", "/down", factory);
    router_.Add("GET", "/", [](const HttpRequest&) { return HttpResponse{.body = "landing"}; });
    router_.Add("POST", "/take", [](const HttpRequest& r) { return HttpResponse{.body = r.body}; });
  }

  static std::string Post(const std::string& more) { return "POST /up HTTP/1.1\r\nHost: x\r\n" + more + "\r\n"; }
  static std::string PostOf(const std::string& body) {
    return Post("Content-Length: " + std::to_string(body.size()) + "\r\n") + body;
  }
  static std::string PostChunks(const std::string& chunks) { return Post("Transfer-Encoding: chunked\r\n") + chunks; }

  // Expects exactly one call of OnEnd, as the last recorded call.
  void ExpectEnd(std::string_view cause) {
    EXPECT_TRUE(record_.Await("end: "));
    EXPECT_TRUE(record_.events().back().starts_with("end: " + std::string(cause))) << record_.events().back();
    EXPECT_EQ(record_.Count("end: "), 1U);
  }
  // Checks that the server still serves other connections.
  void ExpectService() {
    RawClient other = ConnectAndSend(Get("/"));
    EXPECT_EQ(other.Answer().body, "landing");
  }

  StreamBehaviour stream_;
  HttpExchange* exchange_ = nullptr;  // the exchange of the latest request
};

}  // namespace weir
