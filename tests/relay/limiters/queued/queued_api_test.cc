// The endpoints' API on a clock that stands still.
#include "relay/limiters/queued/queued_api.h"

#include <prometheus/text_serializer.h>

#include <set>

#include "config/text/rfc3339.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/limiters/keyed/keyed_api_fixture.h"
#include "tests/relay/limiters/quota/openapi_document.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Algorithm = EndpointConfig::Algorithm;

class QueuedApiTest : public testing::Test {
 protected:
  using Client = std::shared_ptr<KeyedClient>;
  using Fields = std::vector<std::pair<std::string, std::string>>;

  void Open(std::vector<EndpointRule> rules, QueuedConfig config = {}) {
    config.rules = QueuedRules::Make(std::move(rules)).value();
    limiter_.emplace(std::move(config), clock_);
    api_.emplace(*limiter_, metrics_);
  }
  Client Ask(const std::string& path, const std::string& query = "", Fields fields = {}) {
    HttpRequest request{.method = "GET", .path = path, .raw_path = path, .query = query};
    request.headers = std::move(fields);
    auto client = std::make_shared<KeyedClient>();
    api_->Take(request, HttpReply(client));
    return client;
  }
  Client Show(const std::string& query = "") const {
    auto client = std::make_shared<KeyedClient>();
    api_->ShowPage({.method = "GET", .path = "/debug/endpoints", .query = query}, HttpReply(client));
    return client;
  }
  void Pass(Duration time) {
    clock_.Advance(time);
    limiter_->Tick();
  }

  ManualClock clock_{TimePoint(std::chrono::hours(5))};
  QueuedMetrics metrics_;
  std::optional<QueuedLimiter> limiter_;
  std::optional<QueuedApi> api_;
};

TEST_F(QueuedApiTest, SaysHowLongItWaitedAndHowTheEndpointIsConfigured) {
  Open({{.path = "/api", .rate = 10, .queue_timeout = seconds(3)}});
  EXPECT_EQ(Ask("/api")->body(),
            R"({"ok":true,"endpoint":"/api","queued_for_ms":0,"queue_depth":0,"rate":10,"unit":"rps",)"
            R"("scheduler":"fifo","algorithm":"strict","max_queue_size":500,"overflow":"reject","queue_timeout":3})"
            "\n");
  Ask("/api/v2/users");
  const Client waiting = Ask("/api/v2/users"), next = Ask("/api/v2/users");
  EXPECT_EQ(waiting->status(), 0);
  Pass(milliseconds(100));
  EXPECT_EQ(waiting->status(), 200);
  EXPECT_EQ(waiting->body(),
            R"({"ok":true,"endpoint":"/api/v2/users","queued_for_ms":100,"queue_depth":1,"rate":10,"unit":"rps",)"
            R"("scheduler":"fifo","algorithm":"strict","max_queue_size":500,"overflow":"reject","queue_timeout":3,)"
            R"("dynamic":true})"
            "\n");
  EXPECT_EQ(waiting->Header("RateLimit-Policy"), R"("requests";q=10;w=1)");
  EXPECT_EQ(waiting->Header("RateLimit"), R"("requests";r=0;t=1)");
}

TEST_F(QueuedApiTest, SaysWhatIsLeftOfAWindowOfTokens) {
  Open({{.path = "/llm", .algorithm = Algorithm::kTokenWindow, .tokens_per_window = 10'000}});
  EXPECT_EQ(Ask("/llm", "tokens=500")->body(),
            R"({"ok":true,"endpoint":"/llm","queued_for_ms":0,"queue_depth":0,"scheduler":"fifo",)"
            R"("algorithm":"token_window","max_queue_size":500,"overflow":"reject","window_seconds":60,)"
            R"("tokens_per_window":10000,"default_tokens":1,"tokens_consumed":500,"tokens_remaining":9500,)"
            R"("window_capacity":10000,"waiting_for_next_window":0})"
            "\n");
  const Client large = Ask("/llm", "tokens=10001");
  EXPECT_EQ(large->Refusal(), "429 too_large");
  EXPECT_EQ(large->Header("Retry-After"), "") << "waiting does not help";
  EXPECT_EQ(large->Header("RateLimit"), R"("tokens";r=9500;t=60)");
  EXPECT_EQ(large->Header("RateLimit-Policy"), R"("tokens";q=10000;w=60;qu="tokens")");
  EXPECT_EQ(Ask("/llm", "tokens=0")->Member("tokens_consumed"), "1");
  const Client waiting = Ask("/llm", "tokens=10000");
  EXPECT_EQ(waiting->status(), 0);
  EXPECT_EQ(Ask("/llm")->Member("waiting_for_next_window"), "1");
}

TEST_F(QueuedApiTest, TellsEachRateInRateLimitFields) {
  using Unit = EndpointConfig::Unit;
  Open({{.path = "/bucket", .rate = 30, .algorithm = Algorithm::kTokenBucket, .burst_size = 20},
        {.path = "/slow", .rate = 0.5, .unit = Unit::kPerMinute},
        {.path = "/minute", .rate = 30, .unit = Unit::kPerMinute},
        {.path = "/window", .rate = 30, .unit = Unit::kPerMinute, .algorithm = Algorithm::kSlidingWindow}});
  EXPECT_EQ(Ask("/bucket")->Header("RateLimit-Policy"), R"("requests";q=30;w=1;weir-burst=20)");
  EXPECT_EQ(Ask("/slow")->Header("RateLimit-Policy"), R"("requests";q=1;w=120)");
  EXPECT_EQ(Ask("/minute")->Header("RateLimit-Policy"), R"("requests";q=30;w=60)");
  EXPECT_EQ(Ask("/window")->Header("RateLimit-Policy"), R"("requests";q=30;w=60)");
}

TEST_F(QueuedApiTest, RefusesAtOnceRequestsItCannotServeInTime) {
  Open({{.path = "/api", .rate = 1, .max_queue_size = 2}});
  for (int i = 0; i < 2; ++i) Ask("/api");
  const Client late = Ask("/api", "timeout=0.5");
  EXPECT_EQ(late->status(), 429);
  EXPECT_EQ(late->Member("ok"), "false");
  EXPECT_EQ(late->Member("code"), "wait_too_long");
  EXPECT_EQ(late->Header("Retry-After"), "1");
  EXPECT_EQ(late->Member("scheduler"), "fifo");
  EXPECT_EQ(Ask("/api", "timeout=999")->status(), 0);
  const Client full = Ask("/api");
  EXPECT_EQ(full->Refusal(), "429 queue_full");
  EXPECT_EQ(full->Member("queue_depth"), "2");
}

TEST_F(QueuedApiTest, ServesTheMoreUrgentFirst) {
  Open({{.path = "/api", .rate = 1, .scheduler = EndpointConfig::Scheduler::kPriority}});
  Ask("/api");
  const Client low = Ask("/api", "", {{"x-priority", "-3"}}), high = Ask("/api", "", {{"x-priority", "7"}});
  Pass(seconds(1));
  EXPECT_EQ(low->status(), 0);
  EXPECT_EQ(high->status(), 200);
}

TEST_F(QueuedApiTest, SaysHowLongARequestWasOnItsWay) {
  Open({{.path = "/api", .rate = 1000}});
  const WallTime sent = WallClock::System().Now() - std::chrono::minutes(2);
  const auto since_1970 = std::chrono::duration_cast<milliseconds>(sent.time_since_epoch()).count();
  for (const std::string& text : {FormatTime(sent), std::to_string(since_1970), std::to_string(since_1970 / 1000)}) {
    const Client client = Ask("/api", "timeout=9", {{"x-sent-at", text}});
    Pass(seconds(1));
    EXPECT_GE(std::stoll("0" + client->Member("transit_ms")), 120'000) << text << client->body();
    EXPECT_LE(std::stoll("0" + client->Member("transit_ms")), 3'600'000) << text;
  }
  EXPECT_EQ(Ask("/api", "", {{"x-sent-at", "2200-01-01T00:00:00Z"}})->Member("transit_ms"), "0");
  Pass(seconds(1));
  EXPECT_EQ(Ask("/api", "", {{"x-sent-at", "1700-01-01T00:00:00Z"}})->status(), 200);
}

TEST_F(QueuedApiTest, SaysWhatItCannotRead) {
  Open({{.path = "/api", .rate = 1000}});
  const struct {
    const char* query;
    Fields fields;
    const char* message;
  } cases[] = {
      {"timeout=soon", {}, "timeout: soon is not a number within 0..2678400 (seconds)"},
      {"timeout=-1", {}, "timeout: -1 is not within 0..2678400 (seconds)"},
      {"timeout=1&timeout=1", {}, "timeout is there twice"},
      {"tokens=1.5", {}, "tokens: 1.5 is not a whole number"},
      {"tokens=1&tokens=2", {}, "tokens is there twice"},
      {"token=1", {}, "found the parameter token, expected one of timeout, tokens"},
      {"", {{"x-priority", "high"}}, "X-Priority: high is not a whole number"},
      {"", {{"x-sent-at", "yesterday"}}, "X-Sent-At: yesterday is not a time of RFC 3339, and not a number"},
  };
  for (const auto& c : cases) {
    const Client client = Ask("/api", c.query, c.fields);
    EXPECT_EQ(client->status(), 400) << c.query;
    EXPECT_TRUE(Has(client->body(), c.message)) << client->body();
  }
  EXPECT_EQ(limiter_->Counts().served, 0u);
}

TEST_F(QueuedApiTest, TakesAClientThatLeavesOutOfTheLine) {
  Open({{.path = "/api", .rate = 1}});
  Ask("/api");
  const Client leaving = Ask("/api"), next = Ask("/api");
  leaving->Leave();
  EXPECT_EQ(limiter_->Counts().waiting, 1u);
  EXPECT_EQ(leaving->status(), 499);
  Pass(seconds(1));
  EXPECT_EQ(next->status(), 200);
  EXPECT_EQ(limiter_->Counts().served, 2u);
  next->Leave();  // too late
}

TEST_F(QueuedApiTest, AnswersWaitingClientsWhenTheServerGoes) {
  Open({{.path = "/api", .rate = 1}});
  Ask("/api");
  const Client waiting = Ask("/api"), closed = Ask("/api");
  waiting->Leave(HttpLeft::kServer);
  EXPECT_EQ(waiting->status(), 503);
  limiter_->Close();
  EXPECT_EQ(closed->Refusal(), "503 closed");
  EXPECT_EQ(closed->Header("Retry-After"), "1");
}

TEST_F(QueuedApiTest, KnowsNoEndpointWithoutAnAncestor) {
  Open({{.path = "/api", .rate = 1}});
  const Client unknown = Ask("/other");
  EXPECT_EQ(unknown->Refusal(), "404 unknown_path");
  EXPECT_EQ(Ask("/api/" + std::string(600, 'x'))->status(), 400);
}

TEST_F(QueuedApiTest, ShowsWhatIsHeld) {
  Open({{.path = "/b", .rate = 1}, {.path = "/a", .rate = 1}});
  Ask("/b/x"), Ask("/b/x");
  const Client client = Show();
  EXPECT_EQ(client->status(), 200);
  EXPECT_EQ(client->body().substr(0, 94),
            R"({"endpoints":3,"dynamic":1,"waiting":1,"served":1,"rejected":0,"waited":1,"left":0,"shown":[{")");
  EXPECT_TRUE(
      Has(client->body(), R"({"endpoint":"/b/x","queue_depth":1,"waiting_before_queue":0,"left":0,"served":1,)"))
      << client->body();
}

TEST_F(QueuedApiTest, ShowsPagesOfABoundedSizeWhateverThePathsAre) {
  Open({{.path = "/a", .rate = 1000}});
  for (int n = 0; n < 400; ++n) Ask("/a/" + std::to_string(n) + std::string(n % 2 == 0 ? 400 : 0, '\1'));
  std::set<std::string> paths;
  size_t shown = 0, pages = 0;
  std::string query;
  do {
    const Client page = Show(query);
    ASSERT_EQ(page->status(), 200);
    const std::string text = page->body();
    EXPECT_EQ(text.find(R"({"endpoints":401,"dynamic":400,)"), 0U) << text;
    EXPECT_LT(text.size(), 200'000U);
    const std::string member = R"({"endpoint":")";
    for (size_t at = text.find(member); at != text.npos; at = text.find(member, at + 1)) {
      paths.insert(text.substr(at, text.find(R"(","queue_depth")", at) - at));
      ++shown;
    }
    query = page->Member("next").empty() ? "" : "after=" + page->Member("next");
    ASSERT_LT(++pages, 500U) << "the pages have no end";
  } while (!query.empty());
  EXPECT_EQ(paths.size(), 401U);
  EXPECT_EQ(shown, 401U) << "each once";
  EXPECT_GE(pages, 5U);
  EXPECT_EQ(Show("before=1")->status(), 400);
}

TEST_F(QueuedApiTest, CountsItsAnswers) {
  Open({{.path = "/api", .rate = 1, .max_queue_size = 1}});
  Ask("/api"), Ask("/api")->Leave(), Ask("/api"), Ask("/api"), Ask("/api", "x=1");
  Pass(seconds(1));
  MetricFamilies families;
  metrics_.AppendTo(families, limiter_->Counts());
  const std::string text = prometheus::TextSerializer().Serialize(std::move(families).Take());
  for (const char* line :
       {R"(weir_queued_requests_total{code="served"} 2)", R"(weir_queued_requests_total{code="queue_full"} 1)",
        R"(weir_queued_requests_total{code="client_left"} 1)",
        R"(weir_queued_requests_total{code="invalid_request"} 1)", "weir_queued_waiting 0",
        "weir_queued_waited_total 2", "weir_queued_wait_seconds_count 1"})
    EXPECT_TRUE(Has(text, std::string(line) + "\n")) << line << "\n" << text;
}

struct DocumentedRoute {
  std::string_view method;
  std::string_view path;
};

TEST_F(QueuedApiTest, AnswersAsIsDocumented) {
  const OpenApiDocument document;
  const DocumentedRoute take{"GET", "/{endpoint}"};
  std::set<int> seen = {401, 403};  // for clients that may not ask
  const auto see = [&](const Client& client) {
    ASSERT_TRUE(client->response);
    EXPECT_EQ(document.Violation(take, *client->response), "") << client->body();
    const auto documented =
        document.Resolved(document.Operation(take.method, take.path)["responses"][std::to_string(client->status())]);
    for (const auto& [name, unused] : client->response->headers)
      EXPECT_TRUE(name == "Cache-Control" || documented["headers"][name].error() == simdjson::SUCCESS)
          << name << " of " << client->status();
    seen.insert(client->status());
  };
  Open({{.path = "/api", .rate = 1, .max_queue_size = 2, .queue_timeout = seconds(3)},
        {.path = "/llm", .algorithm = Algorithm::kTokenWindow, .tokens_per_window = 10},
        {.path = "/bucket", .rate = 1, .algorithm = Algorithm::kTokenBucket, .burst_size = 3}},
       {.max_waiting = 2});
  for (const char* path : {"/api", "/llm", "/bucket", "/api/below", "/none"}) see(Ask(path));
  see(Ask("/llm", "tokens=11", {{"x-sent-at", "2026-01-01T00:00:00Z"}}));
  see(Ask("/api", "timeout=x"));
  see(Ask("/api/" + std::string(600, 'x')));
  const Client first = Ask("/api");
  see(Ask("/api", "timeout=0.1"));
  const Client second = Ask("/api");
  see(Ask("/api/below"));  // no other request can wait anywhere
  see(Ask("/api", "timeout=9"));
  first->Leave();
  see(first);
  Pass(seconds(1));
  see(second);
  EXPECT_EQ(document.Statuses(take), seen);
  seen.insert(413);
  EXPECT_EQ(document.Statuses(DocumentedRoute{"POST", "/{endpoint}"}), seen);

  const DocumentedRoute show{"GET", "/debug/endpoints"};
  for (const Client& shown : {Show(), Show("after=x")})
    EXPECT_EQ(document.Violation(show, *shown->response), "") << shown->body();
  EXPECT_EQ(document.Statuses(show), (std::set<int>{200, 400, 401, 403}));
  for (const DocumentedRoute& route : {take, show}) {
    for (const auto& [status, response] :
         OpenApiDocument::Object(document.Operation(route.method, route.path)["responses"])) {
      const auto content = document.Resolved(response)["content"]["application/json"];
      EXPECT_EQ(document.Violation(content["schema"], content["example"], "the example"), "") << status;
    }
  }
}

}  // namespace
}  // namespace weir
