// The endpoints as programs see them: real sockets, real files.
#include <memory>

#include "tests/relay/limiters/gate_child.h"
#include "tests/relay/limiters/gate_server_fixture.h"
#include "tests/relay/limiters/quota/openapi_document.h"

namespace weir {
namespace {

// One request in a thousand minutes.
constexpr const char* kSlow = "endpoints:\n  - {path: /api, rate: 0.001, unit: rpm}\n";
constexpr const char* kFast = "endpoints:\n  - {path: /api, rate: 1000000}\n";

class QueuedServerTest : public GateServerTest {
 protected:
  QueuedServerTest() { configuration_.limiters.queued.watch_interval = std::chrono::milliseconds(10); }

  void Write(std::string_view text) { configuration_.limiters.quota.config_file = directory_.Write("weir.yaml", text); }
  void OpenWith(std::string_view text) {
    Write(text);
    Open();
  }
  std::unique_ptr<RawClient> Waiting(const std::string& path = "/api") const {
    auto client = std::make_unique<RawClient>(server_->port());
    client->Send(HttpText("GET", path));
    return client;
  }
  bool EventuallyWaiting(int count) const {
    return EventuallyInMetrics("weir_queued_waiting " + std::to_string(count));
  }
};

TEST_F(QueuedServerTest, ServesTheEndpointsOfTheFileAndWhatLiesBelow) {
  OpenWith(kFast);
  EXPECT_EQ(Ask("GET", "/api").status, 200);
  const RawAnswer below = Ask("POST", "/api/v2/users?tokens=3", R"({"any":"body"})");
  EXPECT_EQ(below.status, 200);
  EXPECT_EQ(below.headers.at("content-type"), "application/json");
  EXPECT_TRUE(below.headers.contains("ratelimit"));
  EXPECT_TRUE(Has(below.body, R"("endpoint":"/api/v2/users")")) << below.body;
  EXPECT_EQ(Ask("HEAD", "/api").status, 200);
  EXPECT_EQ(Ask("GET", "/api/%C3%A9t%C3%A9").status, 200);
  EXPECT_EQ(Ask("DELETE", "/api").status, 405);
  for (const char* path : {"/apis", "/other", "/%61pi", "/api/%FF"}) EXPECT_EQ(Ask("GET", path).status, 404) << path;
  EXPECT_TRUE(Has(Ask("GET", "/debug/endpoints").body, R"("endpoint":"/api/v2/users")"));
}

TEST_F(QueuedServerTest, RequestsThatReachNoEndpointAreAnsweredAsIsDocumented) {
  configuration_.server.max_http_body_bytes = 1000;
  OpenWith(kFast);
  const OpenApiDocument document;
  struct Documented {
    std::string_view method;
    std::string_view path;
  };
  const auto check = [&](const std::string& method, const std::string& path, const std::string& body, int status) {
    SCOPED_TRACE(method + " " + path);
    const RawAnswer answer = Ask(method, path, body);
    EXPECT_EQ(answer.status, status) << answer.body;
    const HttpResponse response{
        .status = answer.status, .content_type = answer.headers.at("content-type"), .body = answer.body};
    EXPECT_EQ(document.Violation(Documented{method, "/{endpoint}"}, response), "") << answer.body;
  };
  check("GET", "/other", "", 404);
  check("POST", "/other", "{}", 404);
  check("POST", "/api", std::string(2000, ' '), 413);
}

// A HEAD is, as in rls, a GET without the answer's body (RFC 9110, 9.3.2), and the status says all that a turn gives. A
// proxy that asks for each request by its own method must not find HEAD free, nor refused.
TEST_F(QueuedServerTest, AHeadTakesItsTurnAsAGetDoes) {
  OpenWith("endpoints:\n  - {path: /api, rate: 0.001, unit: rpm, max_queue_size: 1}\n");
  EXPECT_EQ(Ask("HEAD", "/api").status, 200);
  const auto waiting = Waiting();
  ASSERT_TRUE(EventuallyWaiting(1)) << "the turn was the HEAD's";
  const RawAnswer next = Ask("HEAD", "/api");
  EXPECT_EQ(next.status, 429);
  EXPECT_TRUE(next.headers.contains("retry-after"));
}

TEST(QueuedGate, WarnsThatTheAddressInAnRlsFileHasNoEffect) {
  const TempDirectory directory;
  const std::string config =
      directory.Write("rls.yml", "server: {host: 0.0.0.0, port: 8080}\nendpoints:\n  - {path: /api, rate: 10}\n");
  GateChild child({"--port", "0", "--config", config});
  const uint16_t port = child.Port();
  ASSERT_NE(port, 0) << child.err();
  EXPECT_EQ(AskPort(port, "GET", "/api").status, 200);
  EXPECT_TRUE(Has(child.err(), "`server` of WEIR_CONFIG has no effect: set WEIR_LISTEN and WEIR_PORT"));
}

TEST_F(QueuedServerTest, ShadowsNoRouteWhateverTheFileSays) {
  OpenWith("endpoints:\n  - {path: /, rate: 1000000}\n");
  EXPECT_EQ(Ask("GET", "/anything/at/all").status, 200);
  EXPECT_TRUE(Has(Ask("GET", "/").body, R"("endpoint":"/")")) << "never served without its turn";
  EXPECT_TRUE(Has(Ask("GET", "/", "", "Accept: text/html\r\n").body, "weir gate"));
  EXPECT_TRUE(Has(Ask("GET", "/metrics").body, "weir_queued_waiting"));
  EXPECT_TRUE(Has(Ask("GET", "/rate/k").body, R"("key":"k")"));
  EXPECT_EQ(Ask("GET", "/v1/nothing").status, 404);
  EXPECT_EQ(Ask("GET", "/metrics/x").status, 404);
  EXPECT_EQ(Ask("GET", "/debug/x/y").status, 404);
}

TEST_F(QueuedServerTest, KeepsWaitingRequestsWhenTheFileChanges) {
  OpenWith(kSlow);
  EXPECT_EQ(Ask("GET", "/api").status, 200);
  const auto waiting = Waiting();
  ASSERT_TRUE(EventuallyWaiting(1));
  Write("endpoints:\n  - {path: /api, rate: -1}\n");
  EXPECT_TRUE(EventuallyInMetrics("weir_queued_config_good 0"));
  Write("keyed: {}\n");
  EXPECT_TRUE(EventuallyInMetrics(R"(weir_queued_config_reads_total{result="error"} 2)")) << "no endpoints: any more";
  EXPECT_TRUE(EventuallyWaiting(1));
  Write(kFast);
  const RawAnswer answer = waiting->Answer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(Has(answer.body, R"("rate":1000000)")) << answer.body;
}

TEST_F(QueuedServerTest, ServesPathsThatTheFileNamesLater) {
  OpenWith("endpoints: []\n");
  EXPECT_EQ(Ask("GET", "/api").status, 404);
  Write(kFast);
  EXPECT_TRUE(Eventually([&] { return Ask("GET", "/api").status == 200; }));
}

TEST_F(QueuedServerTest, TakesClientsThatLeaveOutOfTheLine) {
  OpenWith(kSlow);
  Ask("GET", "/api");
  {
    const auto first = Waiting(), second = Waiting("/api/x"), third = Waiting("/api/x");
    ASSERT_TRUE(EventuallyWaiting(2));
  }
  EXPECT_TRUE(EventuallyWaiting(0));
  EXPECT_TRUE(EventuallyInMetrics(R"(weir_queued_requests_total{code="client_left"} 2)"));
}

TEST_F(QueuedServerTest, AnswersWaitingClientsAtShutdown) {
  OpenWith(kSlow);
  Ask("GET", "/api");
  const auto first = Waiting(), second = Waiting();
  ASSERT_TRUE(EventuallyWaiting(2));
  server_->Shutdown(std::chrono::minutes(1));
  for (const auto& client : {first.get(), second.get()}) {
    const RawAnswer answer = client->Answer();
    EXPECT_EQ(answer.status, 503);
    EXPECT_TRUE(Has(answer.body, R"("code":"closed")")) << answer.body;
  }
}

}  // namespace
}  // namespace weir
