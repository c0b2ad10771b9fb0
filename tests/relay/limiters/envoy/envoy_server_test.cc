// Envoy's rate limits as programs see them: real sockets, real files, a relay's port.
#include <atomic>
#include <filesystem>
#include <thread>

#include "grpc/health/v1/health.pb.h"
#include "tests/relay/limiters/gate_child.h"
#include "tests/relay/limiters/gate_server_fixture.h"
#include "tests/relay/net/grpc/grpc_fixture.h"

namespace weir {
namespace {

std::string RateLimitBody(const std::string& key, const std::string& value, const std::string& domain = "d") {
  return R"({"domain":")" + domain + R"(","descriptors":[{"entries":[{"key":")" + key + R"(","value":")" + value +
         R"("}]}]})";
}

std::string YearOf(const std::string& key, int requests) {
  return "domain: d\ndescriptors:\n  - {key: " + key +
         ", rate_limit: {unit: year, requests_per_unit: " + std::to_string(requests) + "}}\n";
}

class EnvoyServerTest : public GateServerTest {
 protected:
  EnvoyServerTest() {
    configuration_.limiters.envoy.watch_interval = std::chrono::milliseconds(10);
    configuration_.limiters.envoy.rules_directory = rules_.path();
    configuration_.admin_from_loopback = AdminFromLoopback::kFalse;
  }
  int StatusOf(const std::string& key, const std::string& value = "1") const {
    return Ask("POST", "/json", RateLimitBody(key, value)).status;
  }

  TempDirectory rules_;
};

TEST_F(EnvoyServerTest, ServesTheExampleAsItStands) {
  configuration_.limiters.envoy.rules_directory = WEIR_SOURCE_DIR "/relay/limiters/envoy/example";
  Open();
  const auto ask = [&](const std::string& key, const std::string& value) {
    return Ask("POST", "/json", RateLimitBody(key, value, "edge"));
  };
  EXPECT_EQ(ask("remote_address", "203.0.113.66").status, 429);
  EXPECT_TRUE(Has(ask("remote_address", "10.1.2.3").body, R"("requestsPerUnit":100)"));
  EXPECT_TRUE(Has(ask("remote_address", "192.0.2.1").body, R"("requestsPerUnit":20)"));
  EXPECT_TRUE(Has(ask("partner", "p").body, R"("limitRemaining":4294967295)"));
  EXPECT_EQ(Ask("POST", "/json", RateLimitBody("to", "a@b", "mail")).status, 200);
  EXPECT_TRUE(EventuallyInMetrics(R"(weir_ratelimit_hits_total{domain="mail",rule="to"} 1)"));
  EXPECT_TRUE(Has(Ask("GET", "/debug/ratelimit").body, R"("rule":"kind_marketing.to")"));
  EXPECT_TRUE(Has(Ask("GET", "/").body, "/json"));
}

TEST_F(EnvoyServerTest, ReadsTheDirectoryAgainWhenItChangesAndGoesOnCounting) {
  rules_.Write("a.yaml", YearOf("a", 2));
  Open();
  EXPECT_EQ(StatusOf("a"), 200);
  EXPECT_EQ(StatusOf("a"), 200);
  EXPECT_EQ(StatusOf("a"), 429);
  rules_.Write("a.yaml", YearOf("a", 5));
  EXPECT_TRUE(Eventually([&] { return Has(Ask("POST", "/json", RateLimitBody("a", "9")).body, R"(PerUnit":5)"); }));
  EXPECT_EQ(StatusOf("a"), 200) << "the fourth of five";
  EXPECT_EQ(StatusOf("a"), 200);
  EXPECT_EQ(StatusOf("a"), 429) << "what was charged under the rules before counts";
  rules_.Write("b.yaml", "domain: b\n");
  EXPECT_TRUE(Eventually([&] { return Has(Ask("GET", "/debug/ratelimit").body, R"({"domains":2,)"); })) << "one more";
  std::filesystem::remove(rules_ / "b.yaml");
  EXPECT_TRUE(Eventually([&] { return Has(Ask("GET", "/debug/ratelimit").body, R"({"domains":1,)"); })) << "one fewer";
}

TEST_F(EnvoyServerTest, KeepsTheOldRulesWhileTheFilesAreWrong) {
  rules_.Write("a.yaml", YearOf("a", 1));
  Open();
  EXPECT_EQ(StatusOf("a"), 200);
  int errors = 0;
  for (const char* bad : {"domain: d\ndescriptor: []\n", "", "domain: [\n"}) {
    rules_.Write("a.yaml", bad);
    EXPECT_TRUE(EventuallyInMetrics("weir_ratelimit_config_reads_total{result=\"error\"} " + std::to_string(++errors)));
    EXPECT_EQ(StatusOf("a"), 429) << bad;
  }
  EXPECT_TRUE(EventuallyInMetrics("weir_ratelimit_config_good 0"));
  std::filesystem::remove(rules_ / "a.yaml");
  EXPECT_TRUE(EventuallyInMetrics("weir_ratelimit_config_reads_total{result=\"error\"} " + std::to_string(++errors)));
  EXPECT_EQ(StatusOf("a"), 429);
  rules_.Write("a.yaml", YearOf("b", 1));
  EXPECT_TRUE(EventuallyInMetrics("weir_ratelimit_config_good 1"));
  EXPECT_EQ(StatusOf("a"), 200) << "it has no limit any more";
}

TEST_F(EnvoyServerTest, FollowsTheLinkOfAConfigMap) {
  namespace fs = std::filesystem;
  for (const auto& [version, requests] : {std::pair("..1", 1), std::pair("..2", 2)}) {
    fs::create_directory(rules_ / version);
    WriteText(rules_ / version + "/a.yaml", YearOf("a", requests));
  }
  fs::create_directory_symlink("..1", rules_ / "..data");
  fs::create_symlink("..data/a.yaml", rules_ / "a.yaml");
  Open();
  EXPECT_EQ(StatusOf("a"), 200);
  EXPECT_EQ(StatusOf("a"), 429);
  fs::create_directory_symlink("..2", rules_ / "..data_tmp");
  fs::rename(rules_ / "..data_tmp", rules_ / "..data");
  EXPECT_TRUE(Eventually([&] { return Has(Ask("POST", "/json", RateLimitBody("a", "9")).body, R"(PerUnit":2)"); }));
}

TEST_F(EnvoyServerTest, IsNotServedWithoutADirectory) {
  configuration_.limiters.envoy.rules_directory = "";
  Open();
  EXPECT_EQ(StatusOf("a"), 404);
  EXPECT_FALSE(Has(Ask("GET", "/metrics").body, "weir_ratelimit"));
}

TEST_F(EnvoyServerTest, AWrongDirectoryDoesNotOpen) {
  EXPECT_TRUE(Has(OpenError(), "found no *.yaml file")) << OpenError();
  rules_.Write("a.yaml", "domain: d\nlimits: []\n");
  EXPECT_TRUE(Has(OpenError(), "a.yaml:2:1:")) << OpenError();
}

TEST_F(EnvoyServerTest, IsFoundHealthyByTheNamesOfThePublishedService) {
  rules_.Write("a.yaml", YearOf("a", 1));
  Open();
  EXPECT_EQ(Ask("GET", "/healthcheck").status, 200);
  EXPECT_EQ(Ask("GET", "/healthcheck").body, "OK");
  EXPECT_EQ(Ask("GET", "/readyz").body, "ready\n");
  for (const char* service : {"", "ratelimit", "envoy.service.ratelimit.v3.RateLimitService"}) {
    const auto request = Written<grpc::health::v1::HealthCheckRequest>("service: '" + std::string(service) + "'");
    Http2Peer peer(RawClient(server_->port()));
    const auto answer =
        MessageIn<grpc::health::v1::HealthCheckResponse>(CallGrpc(peer, "/grpc.health.v1.Health/Check", request));
    EXPECT_EQ(answer.status(), grpc::health::v1::HealthCheckResponse::SERVING) << service;
  }
}

TEST_F(EnvoyServerTest, TakesABodyAsLongAsTheHeadersOfAClientOfEnvoy) {
  rules_.Write("a.yaml", YearOf("a", 1));
  Open();
  EXPECT_EQ(StatusOf("a", std::string(1'000'000, 'x')), 200);
  EXPECT_EQ(StatusOf("a", std::string(1'000'000, 'x')), 429);
}

TEST_F(EnvoyServerTest, ReloadsUnderLoadAndLosesNoHit) {
  configuration_.server.io_threads = 2;
  rules_.Write("a.yaml", YearOf("a", 1'000'000));
  Open();
  std::atomic<bool> stop{false};
  std::atomic<int> passed{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int n = 0; n < 3; ++n) {
    threads.emplace_back([&] {
      RawClient client(server_->port());
      while (!stop) {
        client.Send(HttpText("POST", "/json", RateLimitBody("a", "1")));
        ++(client.Answer().status == 200 ? passed : wrong);
      }
    });
  }
  for (int round = 1; round <= 15; ++round) {
    rules_.Write("a.yaml", YearOf("a", 1'000'000 + round));
    const std::string expected = R"("requests_per_unit":)" + std::to_string(1'000'000 + round);
    EXPECT_TRUE(Eventually([&] { return Has(Ask("GET", "/debug/ratelimit").body, expected); })) << round;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(Has(Ask("GET", "/debug/ratelimit").body, R"("hits":)" + std::to_string(passed.load())));
  EXPECT_TRUE(Has(Ask("POST", "/json", RateLimitBody("a", "1")).body,
                  R"("limitRemaining":)" + std::to_string(1'000'015 - passed - 1)));
}

TEST(EnvoyGate, SaysWhichRuleIsAskedForMoreValuesThanThereIsRoomFor) {
  const TempDirectory rules;
  rules.Write("a.yaml", YearOf("a", 1));
  GateChild child({"--port", "0", "--ratelimit-config", rules.path()}, {{"WEIR_RATELIMIT_MAX_MIB", "1"}});
  RawClient client(child.Port());
  for (int round = 0; round < 60; ++round) {
    std::string descriptors;
    for (int i = 0; i < 100; ++i) {
      descriptors += (i == 0 ? "" : ",") + std::string(R"({"entries":[{"key":"a","value":")") + std::string(200, 'x') +
                     std::to_string(round * 100 + i) + R"("}]})";
    }
    client.Send(HttpText("POST", "/json", R"({"domain":"d","descriptors":[)" + descriptors + "]}"));
    EXPECT_NE(client.Answer().status, 0);
  }
  child.Signal(SIGTERM);
  EXPECT_EQ(child.Wait().code, 0) << child.err();
  const std::string log = child.out() + child.err();
  const std::string line = "ratelimit: d: a is asked for more values than WEIR_RATELIMIT_MAX_MIB (1) has room for";
  EXPECT_TRUE(Has(log, line)) << log;
  EXPECT_EQ(log.find(line, log.find(line) + 1), log.npos) << "once: " << log;
}

TEST(EnvoyGate, TakesTheDirectoryByItsFlag) {
  const TempDirectory rules;
  rules.Write("a.yaml", YearOf("a", 1));
  GateChild child({"--port", "0", "--ratelimit-config", rules.path()});
  const uint16_t port = child.Port();
  ASSERT_NE(port, 0) << child.err();
  EXPECT_EQ(AskPort(port, "POST", "/json", RateLimitBody("a", "1")).status, 200);
  EXPECT_EQ(AskPort(port, "POST", "/json", RateLimitBody("a", "1")).status, 429);
  child.Signal(SIGTERM);
  EXPECT_EQ(child.Wait().code, 0) << child.err();

  rules.Write("a.yaml", "domain: d\ndescriptors: [{key: a, rate_limit: {unit: days}}]\n");
  GateChild refused({"--port", "0", "--ratelimit-config", rules.path()});
  EXPECT_EQ(refused.Wait().code, 2);
  EXPECT_TRUE(Has(refused.err(), "a.yaml:2:")) << refused.err();
}

}  // namespace
}  // namespace weir
