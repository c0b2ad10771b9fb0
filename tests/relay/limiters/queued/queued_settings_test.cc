#include "relay/limiters/queued/queued_settings.h"

#include "tests/relay/limiters/gate_server_fixture.h"
#include "tests/relay/limiters/quota/openapi_document.h"

namespace weir {
namespace {

class QueuedSettingsTest : public testing::Test {
 protected:
  Result<QueuedRulesRead> Read(std::string_view text) { return ReadQueuedRules(directory_.Write("weir.yaml", text)); }
  std::string Wrong(std::string_view text) {
    const std::string message = Read(text).status().message();
    return message.substr(std::min(message.size(), message.find("weir.yaml")));
  }

  TempDirectory directory_;
};

TEST_F(QueuedSettingsTest, ReadsWhatIsDocumented) {
  const auto read = Read(R"(
quota: {unknown_models: refuse}
keyed: {default: {max_requests: 5}}
defaults: {max_dynamic_endpoints: 7}
endpoints:
  - path: /api
    rate: 10
    unit: rpm
    scheduler: priority
    algorithm: token_bucket
    max_queue_size: 50
    overflow: block
    burst_size: 20
    window_seconds: 60
    queue_timeout: 0.25
  - {path: /llm, algorithm: token_window, window_seconds: 1.5, tokens_per_window: 10000, default_tokens: 3}
  - {path: /api/v2, queue_timeout: 0}
)");
  ASSERT_TRUE(read.ok()) << read.status().message();
  const QueuedRules& rules = *read.value().rules;
  EXPECT_EQ(rules.max_dynamic(), 7u);
  const EndpointConfig& api = *rules.configs().at("/api");
  EXPECT_EQ(api.rate, 10);
  EXPECT_EQ(api.unit, EndpointConfig::Unit::kPerMinute);
  EXPECT_EQ(api.scheduler, EndpointConfig::Scheduler::kPriority);
  EXPECT_EQ(api.algorithm, EndpointConfig::Algorithm::kTokenBucket);
  EXPECT_EQ(api.max_queue_size, 50u);
  EXPECT_EQ(api.overflow, EndpointConfig::Overflow::kBlock);
  EXPECT_EQ(api.burst_size, 20u);
  EXPECT_EQ(api.queue_timeout, std::chrono::milliseconds(250));
  const EndpointConfig& llm = *rules.configs().at("/llm");
  EXPECT_EQ(llm.window, std::chrono::milliseconds(1500));
  EXPECT_EQ(llm.tokens_per_window, 10'000u);
  EXPECT_EQ(llm.default_tokens, 3u);
  const EndpointConfig& inherits = *rules.configs().at("/api/v2");
  EXPECT_EQ(inherits.burst_size, 20u);
  EXPECT_EQ(inherits.queue_timeout, std::chrono::milliseconds(0));
}

TEST_F(QueuedSettingsTest, ReadsTheFileOfAnRlsServer) {
  const auto read = Read(R"(
server: {host: 0.0.0.0, port: 8080}
defaults: {scheduler: lifo, algorithm: token_bucket, unit: rpm, max_queue_size: 1000, overflow: block}
endpoints:
  - {path: /, rate: 1}
  - {path: /api, rate: 10, scheduler: fifo}
)");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_TRUE(read.value().has_server);
  const EndpointConfig& root = *read.value().rules->configs().at("/");
  EXPECT_EQ(root.scheduler, EndpointConfig::Scheduler::kLifo);
  EXPECT_EQ(root.algorithm, EndpointConfig::Algorithm::kTokenBucket);
  EXPECT_EQ(root.unit, EndpointConfig::Unit::kPerMinute);
  EXPECT_EQ(root.max_queue_size, 1000u);
  EXPECT_EQ(root.overflow, EndpointConfig::Overflow::kBlock);
  EXPECT_EQ(read.value().rules->configs().at("/api")->scheduler, EndpointConfig::Scheduler::kFifo);
  EXPECT_FALSE(Read("endpoints: []\n").value().has_server);
}

TEST_F(QueuedSettingsTest, HasNoEndpointWhereNothingIsSaid) {
  for (const char* text : {"", "quota: {unknown_models: refuse}\n", "defaults: {max_dynamic_endpoints: 7}\n"}) {
    const auto read = Read(text);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_FALSE(read.value().has_section);
    EXPECT_TRUE(read.value().rules->configs().empty());
  }
  EXPECT_TRUE(Read("endpoints: []\n").value().has_section);
  EXPECT_TRUE(ReadQueuedRules("").ok());
}

TEST_F(QueuedSettingsTest, SaysWhatIsWrongAndWhere) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"endpoints:\n  - {path: /a, rate: fast}\n",
       R"(weir.yaml:2:22: endpoints[0].rate: found "fast", expected a number within 0.001..1000000000 (requests in a unit))"},
      {"endpoints:\n  - {path: /a, rate: 1, scheduler: fair}\n",
       R"(weir.yaml:2:36: endpoints[0].scheduler: found "fair", expected one of fifo, lifo, priority, random)"},
      {"endpoints:\n  - {rate: 1}\n", "weir.yaml:2:5: endpoints[0]"},
      {"endpoints:\n  - {path: /a, rate: 1, burst: 3}\n", "weir.yaml:2:"},
      {"endpoints:\n  - {path: /v1/decide, rate: 1}\n",
       "weir.yaml:2:12: endpoints[0].path: found /v1/decide, expected a path of yours: /v1 is the program's own"},
      {"endpoints:\n  - {path: /metrics, rate: 1}\n", "weir.yaml:2:12: endpoints[0].path: found /metrics"},
      {"endpoints:\n  - {path: /a, rate: 1}\n  - {path: api, rate: 1}\n  - {path: /a/b}\n",
       "weir.yaml:3:12: endpoints[1].path: path 'api': a path begins with /"},
      {"endpoints:\n  - {path: /b, rate: 1}\n  - {path: /a, rate: 1}\n  - {path: /b/, rate: 2}\n",
       "weir.yaml:4:5: endpoints[2]: found the path /b again, expected it once (it stands in line 2)"},
      {"endpoints:\n  - {path: /b, rate: 1}\n  - {path: /a/}\n",
       "weir.yaml:3:5: endpoints[1]: path '/a': it needs a rate, the requests in each second or"},
      {"endpoints:\n  - {path: /b, rate: 1}\n  - {path: /a, algorithm: token_window}\n",
       "weir.yaml:3:5: endpoints[1]: path '/a': it needs tokens_per_window, for its algorithm is token_window"},
      {"defaults: {max_dynamic_endpoint: 7}\n", "did you mean \"max_dynamic_endpoints\"?"},
      {"defaults: {scheduler: fair}\n",
       R"(weir.yaml:1:23: defaults.scheduler: found "fair", expected one of fifo, lifo, priority, random)"},
      {"endpoint:\n  - {path: /a, rate: 1}\n", "did you mean \"endpoints\"?"},
  };
  for (const auto& c : cases) {
    const std::string wrong = Wrong(c.text);
    EXPECT_TRUE(Has(wrong, c.message)) << wrong;
    EXPECT_FALSE(Has(wrong, "\n")) << "one error: " << wrong;
  }
  EXPECT_TRUE(Read("endpoints:\n  - {path: /v12, rate: 1}\n  - {path: /metrics2, rate: 1}\n").ok());
}

// Such a path would belong to another route, and the operator would not be told.
TEST_F(QueuedSettingsTest, RefusesAPathOfTheProgram) {
  std::vector<std::string> paths = {"/metrics", "/healthz", "/readyz", "/healthcheck"};
  const OpenApiDocument document;
  for (const auto& [path, operations] : OpenApiDocument::Object(document.root()["paths"]))
    if (path.find('{') == path.npos) paths.emplace_back(path);
  for (const std::string& path : paths)
    EXPECT_TRUE(Has(Wrong("endpoints:\n  - {path: " + path + ", rate: 1}\n"), "weir.yaml:2:12: ")) << path;
}

}  // namespace
}  // namespace weir
