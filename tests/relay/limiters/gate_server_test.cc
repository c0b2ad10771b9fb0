// The gate as programs see it: real sockets, real files.
#include <atomic>
#include <thread>
#include <vector>

#include "relay/limiters/quota/quota_service.h"
#include "tests/fixtures/standard_output.h"
#include "tests/relay/limiters/gate_server_fixture.h"

namespace weir {
namespace {

using std::chrono::seconds;

TEST_F(GateServerTest, DecidesWithoutAConfiguration) {
  Open();
  // The type that curl sends: application/x-www-form-urlencoded.
  const RawAnswer answer = Ask("POST", "/v1/decide", R"({"model":"gpt-4o","tokens":900})",
                               "Content-Type: application/x-www-form-urlencoded\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(Has(answer.body, R"("allowed":true)")) << answer.body;
  EXPECT_TRUE(Has(answer.body, R"("max_tpm":30000)")) << answer.body;
  for (const char* model : {"gemini-2.5-pro", "claude-opus-4", "gpt-4o-mini"})
    EXPECT_TRUE(Has(Ask("POST", "/v1/decide", R"({"model":")" + std::string(model) + R"("})").body, "max_rpm"))
        << model;
}

std::string ReservationOf(const std::string& decision) {
  const size_t begin = decision.find(R"("reservation":")") + 15;
  return decision.substr(begin, decision.find('"', begin) - begin);
}

TEST_F(GateServerTest, ReservesAndCommitsOnOneConnection) {
  Open();
  RawClient client(server_->port());
  client.Send(HttpText("POST", "/v1/reserve", R"({"model":"gpt-4o","tokens":900})"));
  const RawAnswer reserved = client.Answer();
  ASSERT_EQ(reserved.status, 200) << reserved.body;
  const std::string id = ReservationOf(reserved.body);
  client.Send(
      HttpText("POST", "/v1/commit", R"({"reservation":")" + id + R"(","prompt_tokens":500,"output_tokens":90})"));
  const RawAnswer committed = client.Answer();
  EXPECT_EQ(committed.status, 200) << committed.body;
  client.Send(HttpText("GET", "/v1/models/gpt-4o"));
  EXPECT_TRUE(Has(client.Answer().body, R"("tpm":590)"));
  EXPECT_TRUE(EventuallyInMetrics(R"(weir_quota_settled_tokens_difference_total{direction="less"} 310)"));
}

TEST_F(GateServerTest, RefusesWhatDoesNotFitAndSaysWhenToComeBack) {
  configuration_.limiters.quota.config_file =
      directory_.Write("weir.yaml", "quota:\n  models:\n    mine/a b: {max_rpm: 1}\n");
  Open();
  EXPECT_EQ(Take("mine/a b", 10).status, 200);
  const RawAnswer refused = Take("mine/a b", 10);
  EXPECT_EQ(refused.status, 429);
  EXPECT_TRUE(refused.headers.contains("retry-after"));
  EXPECT_TRUE(Has(refused.body, R"("code":"rpm_exceeded")")) << refused.body;
  EXPECT_TRUE(Has(Ask("GET", "/v1/models/mine%2Fa%20b").body, R"("rpm":1)"));
  EXPECT_TRUE(EventuallyInMetrics(
      R"(weir_quota_decisions_total{call="take",outcome="refused",code="rpm_exceeded",tier="none",class="other"} 1)"));
}

constexpr const char* kQuota = R"({"max_rpm":7,"max_tpm":0,"max_rpd":0})";

TEST_F(GateServerTest, OnlyAdministratorsChangeWhatHolds) {
  configuration_.admin.admin_token = "a secret of mine";
  configuration_.admin_from_loopback = AdminFromLoopback::kFalse;
  Open();
  const RawAnswer proxied = Ask("PUT", "/v1/models/gpt-4o/quota", kQuota, "X-Forwarded-For: 192.0.2.1\r\n");
  EXPECT_EQ(proxied.status, 401);
  EXPECT_EQ(proxied.headers.at("content-type"), "application/json");
  EXPECT_TRUE(Has(proxied.body, "WEIR_ADMIN_TOKEN")) << proxied.body;
  EXPECT_EQ(Ask("PUT", "/v1/models/gpt-4o/quota", kQuota, "Authorization: Bearer another\r\n").status, 401);
  EXPECT_EQ(Ask("DELETE", "/v1/state").status, 401) << "also from this machine";
  EXPECT_FALSE(Has(Ask("GET", "/v1/models/gpt-4o").body, R"("max_rpm":7)"));
  const std::string token = "X-Forwarded-For: 192.0.2.1\r\nAuthorization: Bearer a secret of mine\r\n";
  EXPECT_EQ(Ask("PUT", "/v1/models/gpt-4o/quota", kQuota, token).status, 200);
  EXPECT_TRUE(Has(Ask("GET", "/v1/models/gpt-4o").body, R"("max_rpm":7)"));
  Take("gpt-4o", 10);
  EXPECT_EQ(Ask("DELETE", "/v1/models/gpt-4o/state", "", token).status, 204);
  EXPECT_TRUE(Has(Ask("GET", "/v1/models/gpt-4o").body, R"("tpm":0)"));
}

TEST_F(GateServerTest, ThisMachineIsTrustedWhereTheOperatorSaysSo) {
  const struct {
    const char* token;
    AdminFromLoopback trust;
    int status;
  } cases[] = {
      {"", AdminFromLoopback::kFalse, 403},      {"", AdminFromLoopback::kAuto, 403},
      {"", AdminFromLoopback::kTrue, 204},       {"secret", AdminFromLoopback::kFalse, 401},
      {"secret", AdminFromLoopback::kTrue, 204},
  };
  for (const auto& c : cases) {
    configuration_.admin.admin_token = c.token;
    configuration_.admin_from_loopback = c.trust;
    Open();
    EXPECT_EQ(Ask("DELETE", "/v1/state").status, c.status) << c.token;
    server_.reset();
  }
}

TEST_F(GateServerTest, LogsWhichRequestsAreAdministrators) {
  const std::string here = "administrators: requests from this machine are ";
  const struct {
    const char* token;
    AdminFromLoopback trust;
    std::string line;
  } cases[] = {
      {"", AdminFromLoopback::kFalse,
       here + "not trusted (WEIR_ADMIN_FROM_LOOPBACK=false); no request can show a token: WEIR_ADMIN_TOKEN is not set"},
      {"secret", AdminFromLoopback::kFalse,
       here + "not trusted (WEIR_ADMIN_FROM_LOOPBACK=false); requests with the token of WEIR_ADMIN_TOKEN are trusted"},
      {"secret", AdminFromLoopback::kTrue,
       here + "trusted (WEIR_ADMIN_FROM_LOOPBACK=true); requests with the token of WEIR_ADMIN_TOKEN are trusted"},
  };
  for (const auto& c : cases) {
    configuration_.admin.admin_token = c.token;
    configuration_.admin_from_loopback = c.trust;
    const StandardOutput log;
    Open();
    EXPECT_TRUE(Has(log.Text(), c.line)) << log.Text();
    server_.reset();
  }
}

TEST_F(GateServerTest, ForAdminsItServesThisMachineButNoProxy) {
  configuration_.limiters.quota.api = ServedQuotaApi::kAdmins;
  Open();
  EXPECT_EQ(Take("gpt-4o", 1).status, 200);
  const std::string body = R"({"model":"gpt-4o"})";
  EXPECT_EQ(Ask("POST", "/v1/decide", body, "X-Forwarded-For: 192.0.2.1\r\n").status, 403);
  EXPECT_EQ(Ask("GET", "/v1/models", "", "X-Forwarded-For: 192.0.2.1\r\n").status, 403);
  server_.reset();
  configuration_.limiters.quota.api = ServedQuotaApi::kOff;
  Open();
  EXPECT_EQ(Take("gpt-4o", 1).status, 404);
  EXPECT_EQ(Ask("GET", "/readyz").status, 200);
}

TEST_F(GateServerTest, ReadsTheConfigurationAgainWhenItChanges) {
  const std::string file = directory_.Write("weir.yaml", "quota:\n  models:\n    mine: {max_tpm: 100}\n");
  configuration_.limiters.quota.config_file = file;
  Open();
  EXPECT_EQ(Take("mine", 101).status, 413);
  directory_.Write("weir.yaml", "quota:\n  models:\n    mine: {max_tpm: 1000}\n");
  EXPECT_TRUE(Eventually([&] { return Take("mine", 101).status == 200; }));

  directory_.Write("weir.yaml", "quota:\n  models:\n    mine: {max_tpm: many}\n");
  EXPECT_TRUE(EventuallyInMetrics("weir_quota_config_good 0"));
  EXPECT_EQ(Take("mine", 101).status, 200) << "what ran goes on";
  std::filesystem::remove(file);
  EXPECT_TRUE(EventuallyInMetrics(R"(weir_quota_config_reads_total{result="error"} 2)")) << "it has looked";
  EXPECT_EQ(Take("mine", 101).status, 200);
  directory_.Write("weir.yaml", "quota:\n  models:\n    mine: {max_tpm: 50}\n");
  EXPECT_TRUE(Eventually([&] { return Take("mine", 51).status == 413; }));
  EXPECT_TRUE(EventuallyInMetrics("weir_quota_config_good 1"));
}

TEST_F(GateServerTest, AFileThatIsEmptiedOrHalfWrittenWithdrawsNothing) {
  const std::string good = "quota:\n  models:\n    mine: {max_tpm: 100}\n";
  configuration_.limiters.quota.config_file = directory_.Write("weir.yaml", good);
  Open();
  int errors = 0;
  for (const char* text : {"", "# quota\n", "quo", "quota:\n  models:\n    mine: {max_t"}) {
    directory_.Write("weir.yaml", text);
    EXPECT_TRUE(EventuallyInMetrics("weir_quota_config_reads_total{result=\"error\"} " + std::to_string(++errors)))
        << text;
    EXPECT_EQ(Take("mine", 101).status, 413) << text;
  }
  directory_.Write("weir.yaml", good + "    yours: {max_tpm: 50}\n");
  EXPECT_TRUE(EventuallyInMetrics("weir_quota_config_good 1"));
  EXPECT_EQ(Take("yours", 51).status, 413);
  directory_.Write("weir.yaml", "quota: {}\n");
  EXPECT_TRUE(Eventually([&] { return Take("mine", 101).status == 200; })) << "who says so withdraws them";
}

TEST_F(GateServerTest, AWrongConfigurationDoesNotOpen) {
  const struct {
    const char* name;
    const char* text;
    const char* error;
  } cases[] = {
      {"quotas", "quota:\n  modles: {}\n", "weir.yaml:2:"},
      {"keys", "keyed:\n  key: {}\n", "weir.yaml:2:"},
      {"endpoints", "endpoints:\n  - {path: /rate/x, rate: 1}\n", "/rate is the program's own"},
  };
  for (const auto& c : cases) {
    configuration_.limiters.quota.config_file = directory_.Write("weir.yaml", c.text);
    EXPECT_TRUE(Has(OpenError(), c.error)) << c.name << ": " << OpenError();
  }
  configuration_.limiters.quota.config_file = directory_ / "none.yaml";
  EXPECT_TRUE(Has(OpenError(), "none.yaml")) << OpenError();
}

TEST_F(GateServerTest, TheFileComesBeforeTheSettings) {
  configuration_.limiters.quota.quota_shadow = true;
  Open();
  EXPECT_EQ(Take("gpt-4o", 50'000).status, 200);
  EXPECT_TRUE(Has(Take("gpt-4o", 50'000).body, R"("shadowed":true)"));
  EXPECT_TRUE(EventuallyInMetrics(R"(weir_quota_shadowed_total{code="too_large"} 2)"));
  server_.reset();
  configuration_.limiters.quota.config_file = directory_.Write("weir.yaml", "quota: {shadow: false}\n");
  Open();
  EXPECT_EQ(Take("gpt-4o", 50'000).status, 413);
}

// The calls wait for the disk, in the gate's workers.
TEST_F(GateServerTest, OnAFileThatIsSharedNoCountIsLost) {
  configuration_.limiters.quota.store.store = "sqlite:" + (directory_ / "quota.db");
  configuration_.limiters.quota.config_file =
      directory_.Write("weir.yaml", "quota:\n  models:\n    mine: {max_rpm: 50}\n");
  Open();
  auto second = GateServer::Open(configuration_);
  ASSERT_TRUE(second.ok()) << second.status().message();
  second.value()->Accept();
  std::atomic<int> allowed{0};
  std::vector<std::thread> clients;
  for (const uint16_t port : {server_->port(), server_->port(), second.value()->port(), second.value()->port()}) {
    clients.emplace_back([port, &allowed] {
      RawClient client(port);
      for (int n = 0; n < 25; ++n) {
        client.Send(HttpText("POST", "/v1/decide", R"({"model":"mine","tokens":1,"charge":true})"));
        if (client.Answer().status == 200) ++allowed;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(allowed, 50);
  EXPECT_TRUE(Has(Ask("GET", "/v1/models/mine").body, R"("rpm":50)"));
  EXPECT_TRUE(Has(Ask("GET", "/v1/models").body, R"("mine")"));
}

TEST_F(GateServerTest, PersistsTheMemoryStoreAtShutdown) {
  configuration_.limiters.quota.store.store = "yaml:" + (directory_ / "quota.yaml");
  configuration_.limiters.quota.store.persist_every = std::chrono::milliseconds(3'600'000);
  Open();
  EXPECT_EQ(Take("gpt-4o", 1234).status, 200);
  server_->Shutdown(seconds(10));
  EXPECT_TRUE(Has(TextOf(directory_ / "quota.yaml"), "1234"));
  server_.reset();
  Open();
  EXPECT_TRUE(Has(Ask("GET", "/v1/models/gpt-4o").body, R"("tpm":1234)"));
}

TEST_F(GateServerTest, AnAwayStoreRefusesOrLetsGoAsItWasTold) {
  configuration_.limiters.quota.store.store = "redis://127.0.0.1:1";
  Open();
  EXPECT_EQ(Take("gpt-4o", 1).status, 503);
  EXPECT_TRUE(Eventually([&] { return Ask("GET", "/readyz").status == 503; }));
  EXPECT_EQ(Ask("GET", "/healthz").status, 200);
  server_.reset();
  configuration_.limiters.quota.when_store_away = WhenStoreAway::kAllow;
  Open();
  EXPECT_EQ(Take("gpt-4o", 1).status, 200);
  EXPECT_EQ(Ask("GET", "/readyz").status, 200);
  EXPECT_TRUE(EventuallyInMetrics("weir_quota_unchecked_total 1"));
}

TEST_F(GateServerTest, IsNotReadyWhileItsFileIsGone) {
  const std::string path = directory_ / "quota.db";
  configuration_.limiters.quota.store.store = "sqlite:" + path;
  Open();
  EXPECT_EQ(Ask("GET", "/readyz").status, 200);
  std::filesystem::rename(path, path + ".away");
  EXPECT_EQ(Take("gpt-4o", 1).status, 503);
  const RawAnswer away = Ask("GET", "/readyz");
  EXPECT_EQ(away.status, 503);
  EXPECT_TRUE(Has(away.body, "does not answer (the log tells why)")) << away.body;
  const std::string stranger = Ask("GET", "/v1/health", "", "X-Forwarded-For: 192.0.2.1\r\n").body;
  for (const std::string& told : {away.body, stranger}) EXPECT_FALSE(Has(told, path) || Has(told, "removed")) << told;
  EXPECT_TRUE(Has(stranger, R"("store":"sqlite",)")) << stranger;
  EXPECT_TRUE(Has(Ask("GET", "/v1/health").body, path + ": the file was removed")) << "administrators hear it";
  std::filesystem::rename(path + ".away", path);
  EXPECT_TRUE(Eventually([&] { return Ask("GET", "/readyz").status == 200; }));
}

TEST_F(GateServerTest, SaysAtOnceThatItsStoreHasFailed) {
  const std::string path = directory_ / "quota.db";
  configuration_.limiters.quota.store.store = "sqlite:" + path;
  configuration_.limiters.quota.watch_interval = std::chrono::hours(1);
  Open();
  std::filesystem::rename(path, path + ".away");
  const StandardOutput log;
  EXPECT_EQ(Take("gpt-4o", 1).status, 503);
  EXPECT_TRUE(Eventually([&] { return Has(log.Text(), "is in trouble: "); })) << log.Text();
}

TEST_F(GateServerTest, AQuotaThatLeftTheFileWhileNoGateRanIsWithdrawn) {
  configuration_.limiters.quota.store.store = "sqlite:" + (directory_ / "quota.db");
  configuration_.limiters.quota.config_file =
      directory_.Write("weir.yaml", "quota:\n  models:\n    kept: {max_rpm: 1}\n    dropped: {max_rpm: 2}\n");
  Open();
  EXPECT_EQ(Ask("PUT", "/v1/models/mine/quota", R"({"max_rpm":3,"max_tpm":0,"max_rpd":0})").status, 200);
  EXPECT_EQ(Ask("GET", "/v1/models/dropped").status, 200);
  server_.reset();
  directory_.Write("weir.yaml", "quota:\n  models:\n    kept: {max_rpm: 1}\n");
  Open();
  EXPECT_EQ(Ask("GET", "/v1/models/dropped").status, 404);
  EXPECT_EQ(Ask("GET", "/v1/models/kept").status, 200);
  EXPECT_EQ(Ask("GET", "/v1/models/mine").status, 200);
}

TEST_F(GateServerTest, SaysWhatItIs) {
  Open();
  const RawAnswer page = Ask("GET", "/");
  EXPECT_EQ(page.status, 200);
  EXPECT_TRUE(Has(page.body, "curl -X POST")) << page.body;
  EXPECT_EQ(Ask("GET", "/readyz").body, "ready\n");
  EXPECT_EQ(Ask("GET", "/v1/openapi.json").status, 200);
  EXPECT_EQ(Ask("HEAD", "/v1/models/gpt-4o").status, 200);
  EXPECT_EQ(Ask("GET", "/v1/nothing").status, 404);
  EXPECT_EQ(Ask("GET", "/v1/decide").headers.at("allow"), "POST, OPTIONS");
  EXPECT_EQ(Ask("POST", "/v1/models/gpt-4o/quota", "{}").headers.at("allow"), "DELETE, PUT, OPTIONS");
  EXPECT_EQ(Ask("OPTIONS", "/v1/decide").headers.at("access-control-allow-methods"), "GET, HEAD, OPTIONS")
      << "pages of other sites may not ask";
}

TEST_F(GateServerTest, ItsPageNamesItsAddressAndWhatItServes) {
  configuration_.limiters.keyed.api = ServedKeyedApi::kOff;
  Open();
  const auto page = [this](const std::string& host) {
    RawClient client(server_->port());
    client.Send("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    return client.Answer().body;
  };
  EXPECT_TRUE(Has(page("gate.example:81"), "curl -X POST 'gate.example:81/v1/decide' "));
  EXPECT_TRUE(Has(page("[::1]:81"), " '[::1]:81/v1/models'\n"));
  EXPECT_TRUE(Has(page("a;rm"), " '" + server_->host_and_port() + "/v1/models'\n"));
  const std::string served = page("gate");
  for (const char* none : {"{gate}", "localhost", "/rate/", "/json", "envoy.service"})
    EXPECT_FALSE(Has(served, none)) << none << served;
  for (const char* line : {"Limits by key are not served: WEIR_KEYED_API is off.\n",
                           "Envoy's rate limits are not served: WEIR_RATELIMIT_CONFIG is not set.\n",
                           "By gRPC: weir.v1.Quota, grpc.health.v1.Health;"})
    EXPECT_TRUE(Has(served, line)) << line << served;
}

TEST_F(GateServerTest, AWebSocketIsNotToBeHad) {
  Open();
  RawClient client(server_->port());
  EXPECT_FALSE(client.Handshake());
  EXPECT_EQ(Ask("GET", "/", "", "Connection: Upgrade\r\nUpgrade: websocket\r\n").status, 200);
}

TEST_F(GateServerTest, MetricsCoverServerProcessAndQuotas) {
  Open();
  const std::string text = Ask("GET", "/metrics").body;
  for (const char* family : {"weir_build_info", "weir_http_requests_total", "process_cpu_seconds_total",
                             "weir_quota_decisions_total", "weir_quota_store_seconds", "weir_quota_store_breaker",
                             "weir_quota_reservations_open", "weir_quota_reservations_expired_total"}) {
    EXPECT_TRUE(Has(text, "# TYPE " + std::string(family) + " ")) << family;
  }
  EXPECT_FALSE(Has(text, "nostr_"));
}

TEST_F(GateServerTest, CountsTheReservationsThatAreOpen) {
  Open();
  const RawAnswer reserved = Ask("POST", "/v1/reserve", R"({"model":"gpt-4o","tokens":9})");
  EXPECT_EQ(reserved.status, 200);
  EXPECT_TRUE(EventuallyInMetrics("weir_quota_reservations_open 1"));
  EXPECT_EQ(Ask("POST", "/v1/refund", R"({"reservation":")" + ReservationOf(reserved.body) + R"("})").status, 200);
  EXPECT_TRUE(EventuallyInMetrics("weir_quota_reservations_open 0"));
}

}  // namespace
}  // namespace weir
