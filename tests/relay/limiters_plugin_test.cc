// The quotas on a relay's port.
#include "relay/limiters_plugin.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "relay/admin/admin.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/tcp_forwarder.h"
#include "tests/relay/limiters/gate_server_fixture.h"
#include "tests/relay/limiters/quota/quota_command_fixture.h"
#include "tests/relay/relay_server_fixture.h"

namespace weir {
namespace {

using std::chrono::seconds;

class LimitersPluginTest : public RelayServerTest {
 protected:
  ~LimitersPluginTest() override { relay_.reset(); }

  std::string Open(const Environment& environment = {}) {
    plugin_ = std::make_unique<LimitersPlugin>();
    SettingTable table;
    plugin_->Declare(table);
    if (const Status status = table.Load(environment); !status.ok()) return status.message();
    auto opened = Relay::Open(configuration_, false, {plugin_.get()});
    if (!opened.ok()) return opened.status().message();
    relay_ = std::move(opened).value();
    relay_->Accept();
    return "open";
  }

  RawAnswer Ask(const std::string& method, const std::string& path, const std::string& body = "",
                const std::string& more = "") const {
    return AskPort(relay_->port(), method, path, body, more);
  }
  std::string Token() const { return "Authorization: Bearer " + ReadAdminToken(directory_ / "data") + "\r\n"; }

  std::unique_ptr<LimitersPlugin> plugin_;
};

TEST_F(LimitersPluginTest, ARelayWithoutQuotaSettingsServesTheProfiles) {
  configuration_.relay.admin_from_loopback = AdminFromLoopback::kTrue;
  ASSERT_EQ(Open(), "open");
  const RawAnswer answer = Ask("POST", "/v1/decide", R"({"model":"gpt-4o","tokens":900})");
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(Has(answer.body, R"("max_tpm":30000)")) << answer.body;
  EXPECT_EQ(Ask("GET", "/v1/models/gpt-4o").status, 200);
  EXPECT_TRUE(Has(Ask("GET", "/metrics").body, "weir_quota_decisions_total{call=\"decide\""));
  EXPECT_TRUE(RawClient(relay_->port()).Handshake()) << "it is a relay all the same";
  relay_->Shutdown(seconds(10));
}

TEST_F(LimitersPluginTest, ItsSettingsComeFromTheEnvironment) {
  configuration_.relay.admin_from_loopback = AdminFromLoopback::kTrue;
  const std::string config = directory_.Write("weir.yaml", "quota:\n  models:\n    mine: {max_rpm: 1}\n");
  ASSERT_EQ(Open({{"WEIR_QUOTA_STORE", "sqlite:" + (directory_ / "quota.db")}, {"WEIR_CONFIG", config}}), "open");
  const std::string body = R"({"model":"mine","charge":true})";
  EXPECT_EQ(Ask("POST", "/v1/decide", body).status, 200);
  EXPECT_EQ(Ask("POST", "/v1/decide", body).status, 429);
  EXPECT_TRUE(std::filesystem::exists(directory_ / "quota.db"));
}

TEST_F(LimitersPluginTest, ItsAdministratorsAreTheRelays) {
  ASSERT_EQ(Open({{"WEIR_QUOTA_API", "all"}}), "open");
  const std::string quota = R"({"max_rpm":7,"max_tpm":0,"max_rpd":0})";
  const TcpForwarder forwarder(relay_->port());
  for (const uint16_t port : {relay_->port(), forwarder.port()})
    EXPECT_EQ(AskPort(port, "PUT", "/v1/models/gpt-4o/quota", quota).status, 401) << "to come from here is not enough";
  EXPECT_EQ(Ask("PUT", "/v1/models/gpt-4o/quota", quota, Token()).status, 200);
}

TEST_F(LimitersPluginTest, ARelayIsOpenToEverybodyAndItsQuotasAreNot) {
  const std::string body = R"({"model":"gpt-4o"})";
  ASSERT_EQ(Open(), "open");
  EXPECT_EQ(Ask("POST", "/v1/decide", body).status, 401);
  EXPECT_EQ(Ask("POST", "/v1/decide", body, Token()).status, 200);
  relay_.reset();
  ASSERT_EQ(Open({{"WEIR_QUOTA_API", "all"}}), "open");
  EXPECT_EQ(Ask("POST", "/v1/decide", body).status, 200);
  relay_.reset();
  ASSERT_EQ(Open({{"WEIR_QUOTA_API", "off"}, {"WEIR_QUOTA_STORE", "paper:notes"}}), "open");
  EXPECT_EQ(Ask("POST", "/v1/decide", body).status, 404);
}

class LatePart final : public RelayPlugin {
 public:
  void AddRoutes(HttpRouter& router) override {
    router.Add("GET", "/late/page", [](const HttpRequest&) { return HttpResponse(); });
  }
  Status Start(const RelayServices&) override { return {}; }
  void Stop() override {}
  void AppendMetrics(MetricFamilies&) const override {}
};

// Such an endpoint would answer 404, yet count as configured.
TEST_F(LimitersPluginTest, AnEndpointWhoseFirstSegmentIsARoutesIsAnErrorWithItsLine) {
  LatePart other;
  plugin_ = std::make_unique<LimitersPlugin>(ServedLimiterSettings{
      .quota = {.config_file = directory_.Write("weir.yaml", "endpoints:\n  - {path: /mine}\n  - {path: /late/v2}\n")},
      .queued = {.api = ServedQueuedApi::kAll}});
  const auto opened = Relay::Open(configuration_, false, {plugin_.get(), &other});
  ASSERT_FALSE(opened.ok());
  EXPECT_TRUE(
      Has(opened.status().message(),
          "weir.yaml:3:12: endpoints[1].path: found /late/v2, expected a path of yours: /late is the program's"))
      << opened.status().message();
}

TEST_F(LimitersPluginTest, TheCommandFindsTheTokenInTheDataDirectory) {
  const auto set = [this] {
    return Command({"set", "gpt-4o", "--rpm", "7", "--gate", "http://" + relay_->host_and_port()});
  };
  setenv("WEIR_DATA_DIR", (directory_ / "data").c_str(), 1);  // before any thread is there
  ASSERT_EQ(Open(), "open");
  const Ran done = set();
  EXPECT_EQ(done.code, 0) << done.err;
  relay_.reset();
  setenv("WEIR_DATA_DIR", (directory_ / "elsewhere").c_str(), 1);
  ASSERT_EQ(Open(), "open");
  const Ran refused = set();
  relay_.reset();
  unsetenv("WEIR_DATA_DIR");
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(Has(refused.err, "no relay runs on the data directory " + (directory_ / "elsewhere"))) << refused.err;
}

TEST_F(LimitersPluginTest, KnowsTheSettingsOfTheOtherCommands) {
  SettingTable table;
  LimitersPlugin part;
  part.Declare(table);
  const Environment environment = {{"WEIR_ADMIN_TOKEN", "x"},
                                   {"WEIR_COUNT_TOKENS_KEY", "x"},
                                   {"WEIR_GATE", "http://127.0.0.1:3335"},
                                   {"WEIR_QUOTA_API_KEY", "sk-of-the-test"}};
  EXPECT_EQ(table.UnknownNames(environment), std::vector<std::string>());
  ASSERT_TRUE(table.Load(environment).ok());
  for (const SettingRow& row : table.rows()) EXPECT_NE(row.value, "sk-of-the-test") << row.name;
}

TEST_F(LimitersPluginTest, AHangUpReadsItsFileAgain) {
  const std::string config = directory_.Write("weir.yaml", "quota:\n  models:\n    mine: {max_tpm: 100}\n");
  ASSERT_EQ(Open({{"WEIR_CONFIG", config}}), "open");
  plugin_->HangUp();
  EXPECT_TRUE(
      Eventually([&] { return Has(Ask("GET", "/metrics").body, "weir_quota_config_reads_total{result=\"good\"} 1"); }));
}

TEST_F(LimitersPluginTest, AStoreThatCannotBeKeepsTheRelayFromOpening) {
  EXPECT_TRUE(Has(Open({{"WEIR_QUOTA_STORE", "paper:notes"}}), "paper"));
  EXPECT_TRUE(Has(Open({{"WEIR_CONFIG", directory_ / "none.yaml"}}), "none.yaml"));
  EXPECT_TRUE(Has(Open({{"WEIR_RATELIMIT_DIALECT", "klingon"}}), "WEIR_RATELIMIT_DIALECT"));
  EXPECT_EQ(Open(), "open");
}

TEST_F(LimitersPluginTest, ShowsAnOperatorWhatEachLimiterDoes) {
  configuration_.relay.admin_from_loopback = AdminFromLoopback::kTrue;
  const std::string config = directory_.Write("weir.yaml",
                                              "quota:\n  models:\n    mine: {max_rpm: 1}\n"
                                              "keyed:\n  default: {window_millis: 60000, max_requests: 2}\n"
                                              "endpoints:\n  - {path: /mine, rate: 1000}\n");
  std::filesystem::create_directory(directory_ / "rules");
  directory_.Write("rules/edge.yaml",
                   "domain: edge\ndescriptors:\n  - key: path\n    rate_limit: {unit: hour, requests_per_unit: 1}\n");
  ASSERT_EQ(Open({{"WEIR_CONFIG", config},
                  {"WEIR_KEYED_API", "all"},
                  {"WEIR_QUEUED_API", "all"},
                  {"WEIR_RATELIMIT_API", "all"},
                  {"WEIR_RATELIMIT_CONFIG", directory_ / "rules"}}),
            "open");
  const uint16_t port = relay_->port();
  const std::string body = R"({"model":"mine","charge":true})";
  AskPort(port, "POST", "/v1/decide", body);
  AskPort(port, "POST", "/v1/decide", body);
  for (int i = 0; i < 3; ++i) AskPort(port, "GET", "/rate/alice");
  AskPort(port, "GET", "/mine/users");
  const std::string hit = R"({"domain":"edge","descriptors":[{"entries":[{"key":"path","value":"/"}]}]})";
  for (int i = 0; i < 2; ++i) AskPort(port, "POST", "/json", hit);

  LiveRates rates;
  const auto shown = [&] {
    rates.Begin(Clock::System().Now());
    LiveTables tables(rates);
    plugin_->AppendLive(tables);
    std::string text;
    for (const LiveTable& table : std::move(tables).Take()) {
      for (const auto& row : table.rows) {
        EXPECT_EQ(row.size(), table.columns.size()) << table.name;
        text += table.name + ":";
        for (const std::string& cell : row) text += " " + cell;
        text += "\n";
      }
    }
    return text;
  };
  // The shards report keys and endpoints a moment later.
  EXPECT_TRUE(Eventually([&] { return Has(shown(), "keys: alice 2 of 2 0 1\n"); })) << shown();
  EXPECT_TRUE(Eventually([&] { return Has(shown(), "endpoints: /mine 0 "); })) << shown();
  EXPECT_TRUE(Has(shown(), "quotas: other 0 0 1 1\n")) << shown();
  EXPECT_TRUE(Has(shown(), "ratelimit: edge: path 0 0 2 1\n")) << shown();
}

}  // namespace
}  // namespace weir
