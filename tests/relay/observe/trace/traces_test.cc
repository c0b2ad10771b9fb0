// Spans that travel, to collectors that take them and to collectors that do not.
#include "relay/observe/trace/traces.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/silent_port.h"
#include "tests/fixtures/tls_server.h"

namespace weir {
namespace {

std::string UrlOf(const TlsServer& server, bool tls) {
  return (tls ? "https://localhost:" : "http://127.0.0.1:") + std::to_string(server.port());
}

void EndOne(const std::unique_ptr<Traces>& traces) { BeginSpan(Traces::TracerOf(traces), "EVENT", SpanKind::kServer); }

TEST(TracesTest, AreOffWithoutAnEndpoint) {
  const auto traces = Traces::Open({});
  ASSERT_TRUE(traces.ok());
  EXPECT_EQ(traces.value(), nullptr);
  EXPECT_EQ(Traces::TracerOf(traces.value()), nullptr);
}

TEST(TracesTest, SpansArriveByTlsWithTheHeaders) {
  const TlsServer collector({.body = "{}"});
  const auto traces = Traces::Open({.endpoint = UrlOf(collector, true) + "/otlp",
                                    .ratio = 1,
                                    .headers = "x-tenant=one",
                                    .ca_file = collector.ca_file()});
  ASSERT_TRUE(traces.ok()) << traces.status().message();
  EndOne(traces.value());
  ASSERT_TRUE(Eventually([&] { return traces.value()->Stats().exported.sent == 1; }));
  const TlsServer::Request request = collector.requests().at(0);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/otlp/v1/traces");
  EXPECT_TRUE(Has(request.all, "x-tenant: one")) << request.all;
  EXPECT_TRUE(Has(request.all, "Content-Type: application/json"));
  EXPECT_TRUE(Has(request.body, "\"name\":\"EVENT\""));
  EXPECT_EQ(traces.value()->Stats().waiting, 0U);
}

TEST(TracesTest, TheEndSendsWhatIsLeft) {
  const TlsServer collector({.tls = false, .body = "{}"});
  auto traces = Traces::Open({.endpoint = UrlOf(collector, false), .ratio = 1});
  ASSERT_TRUE(traces.ok());
  for (int n = 0; n < 3; ++n) EndOne(traces.value());
  traces.value().reset();
  size_t spans = 0;
  for (const TlsServer::Request& request : collector.requests())
    for (size_t at = 0; (at = request.body.find("\"spanId\"", at)) != std::string::npos; ++at) ++spans;
  EXPECT_EQ(spans, 3U);
}

TEST(TracesTest, ASilentEndpointDoesNoHarm) {
  const SilentPort silent;
  auto traces = Traces::Open({.endpoint = "http://127.0.0.1:" + std::to_string(silent.port()), .ratio = 1});
  ASSERT_TRUE(traces.ok());
  EndOne(traces.value());
  ASSERT_TRUE(Eventually([&] { return traces.value()->Stats().waiting == 0; }));
  EXPECT_EQ(traces.value()->Stats().exported.sent, 0U);
  traces.value().reset();
}

// A call that never ends by itself, and a queue that fills behind it.
TEST(TracesTest, ACollectorThatHangsHoldsUpNeitherWorkNorTheEnd) {
  std::atomic<int> calls = 0;
  const auto hang = [&calls](const HttpCall& call) {
    ++calls;
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait(lock, call.stop, [] { return false; });
    return HttpAnswer{.problem = "given up"};
  };
  auto traces = std::make_unique<Traces>(1, TraceTarget{}, hang);
  EndOne(traces);
  ASSERT_TRUE(Eventually([&] { return calls == 1; }));
  for (size_t n = 0; n < SpanBounds().spans + 10; ++n) EndOne(traces);
  EXPECT_EQ(traces->Stats().dropped, 10U);
  EXPECT_EQ(traces->Stats().waiting, SpanBounds().spans);
  traces.reset();
  EXPECT_EQ(calls, 1) << "what hung once is not asked again at the end";
}

TEST(HttpCallTest, ACallIsGivenUpWhenItIsToldTo) {
  const TlsServer silent({.tls = false, .silent = true});
  const ServerUrl url = ParseServerUrl(UrlOf(silent, false)).value();
  std::stop_source stop;
  std::thread stopper([&] {
    EXPECT_TRUE(Eventually([&] { return !silent.requests().empty(); }));
    stop.request_stop();
  });
  const HttpAnswer answer = CallHttp(url, {.path = "/", .timeout = std::chrono::hours(1), .stop = stop.get_token()});
  stopper.join();
  EXPECT_FALSE(answer.ok());
  EXPECT_FALSE(CallHttp(url, {.path = "/", .timeout = std::chrono::hours(1), .stop = stop.get_token()}).ok())
      << "it was told before";
}

}  // namespace
}  // namespace weir
