// The keyed limiter as programs see it: real sockets, real files, a relay's port.
#include <sys/resource.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "relay/admin/admin.h"
#include "relay/limiters_plugin.h"
#include "tests/fixtures/sanitizers.h"
#include "tests/relay/limiters/gate_child.h"
#include "tests/relay/limiters/gate_server_fixture.h"
#include "tests/relay/relay_server_fixture.h"

namespace weir {
namespace {

using std::chrono::minutes;

// One request an hour, and many may wait.
constexpr const char* kOneAnHour =
    "keyed:\n  default: {window_millis: 3600000, max_requests: 1, max_requests_in_queue: 20000}\n";

class KeyedServerTest : public GateServerTest {
 protected:
  KeyedServerTest() {
    configuration_.limiters.keyed.watch_interval = std::chrono::milliseconds(10);
    configuration_.admin_from_loopback = AdminFromLoopback::kFalse;
  }
  void OpenWith(const std::string& text) {
    configuration_.limiters.quota.config_file = directory_.Write("weir.yaml", text);
    Open();
  }
  std::unique_ptr<RawClient> Waiting(const std::string& key) const {
    auto client = std::make_unique<RawClient>(server_->port());
    client->Send(HttpText("GET", "/rate/" + key + "?canWait"));
    return client;
  }
  bool EventuallyWaiting(int count) const { return EventuallyInMetrics("weir_keyed_waiting " + std::to_string(count)); }
};

TEST_F(KeyedServerTest, GrantsWithoutAConfiguration) {
  Open();
  const RawAnswer answer = Ask("GET", "/rate/user-123");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("ratelimit"), R"("requests";r=99;t=1)");
  EXPECT_TRUE(answer.headers.contains("x-correlation-id"));
  EXPECT_EQ(Ask("GET", "/debug").status, 200);
  EXPECT_EQ(Ask("GET", "/healthz").status, 200);
  EXPECT_TRUE(EventuallyInMetrics(R"(weir_keyed_requests_total{code="granted"} 1)"));
  EXPECT_TRUE(Has(Ask("GET", "/").body, "/rate/"));
}

TEST_F(KeyedServerTest, ReadsItsSectionAgainWhenTheFileChanges) {
  OpenWith("keyed:\n  keys:\n    a: {max_requests: 1, window_millis: 3600000}\n");
  EXPECT_EQ(Ask("GET", "/rate/a").status, 200);
  EXPECT_EQ(Ask("GET", "/rate/a").status, 429);
  directory_.Write("weir.yaml", "keyed:\n  keys:\n    a: {max_requests: 2, window_millis: 3600000}\n");
  EXPECT_TRUE(Eventually([&] { return Ask("GET", "/rate/a").status == 200; }));
  int errors = 0;
  for (const char* bad : {"keyed:\n  keys:\n    a: {max_requests: many}\n", "", "quota: {}\n", "keyed: [\n"}) {
    directory_.Write("weir.yaml", bad);
    EXPECT_TRUE(EventuallyInMetrics("weir_keyed_config_reads_total{result=\"error\"} " + std::to_string(++errors)))
        << bad;
    EXPECT_EQ(Ask("GET", "/rate/a").headers.at("ratelimit-policy"), R"("requests";q=2;w=3600)")
        << "what ran goes on: " << bad;
  }
  EXPECT_TRUE(EventuallyInMetrics("weir_keyed_config_good 0"));
  directory_.Write("weir.yaml", "keyed: {}\n");
  EXPECT_TRUE(EventuallyInMetrics("weir_keyed_config_good 1"));
  EXPECT_TRUE(
      Eventually([&] { return Ask("GET", "/rate/a").headers.at("ratelimit-policy") == R"("requests";q=100;w=1)"; }));
}

TEST_F(KeyedServerTest, AnOperatorsHangUpReadsTheFileAgain) {
  configuration_.limiters.keyed.watch_interval = std::chrono::hours(1);
  OpenWith("keyed:\n  default: {max_requests: 1}\n");
  directory_.Write("weir.yaml", "keyed:\n  default: {max_requests: 7}\n");
  server_->Reload();
  EXPECT_TRUE(EventuallyInMetrics(R"(weir_keyed_config_reads_total{result="good"} 1)"));
  EXPECT_TRUE(
      Eventually([&] { return Ask("GET", "/rate/a").headers.at("ratelimit-policy") == R"("requests";q=7;w=1)"; }));
}

TEST_F(KeyedServerTest, GrantsAWaiterWhenAnotherClientGivesBack) {
  OpenWith(kOneAnHour);
  const std::string body = Ask("GET", "/rate/a").body;
  const std::string id = body.substr(body.find("\"id\":\"") + 6, 16);
  const auto client = Waiting("a");
  ASSERT_TRUE(EventuallyWaiting(1));
  EXPECT_EQ(Ask("DELETE", "/rate/a/" + id).status, 200);
  EXPECT_EQ(client->Answer().status, 200);
}

TEST_F(KeyedServerTest, AClientThatClosesItsConnectionLeavesTheLine) {
  OpenWith(kOneAnHour);
  EXPECT_EQ(Ask("GET", "/rate/a").status, 200);
  auto first = Waiting("a");
  auto second = Waiting("a");
  auto third = Waiting("a");
  ASSERT_TRUE(EventuallyWaiting(3));
  first.reset();
  ASSERT_TRUE(EventuallyWaiting(2));
  second->Reset();
  ASSERT_TRUE(EventuallyWaiting(1));
  third->HalfClose();
  const RawAnswer told = third->Answer();
  EXPECT_EQ(told.status, 499);
  EXPECT_TRUE(Has(told.body, "client_left"));
  EXPECT_TRUE(EventuallyInMetrics(R"(weir_keyed_requests_total{code="client_left"} 3)"));
  EXPECT_TRUE(EventuallyInMetrics("weir_keyed_waiting 0"));
  EXPECT_TRUE(Has(Ask("GET", "/debug/a").body, R"("used":1,)")) << "they consumed nothing";
}

TEST_F(KeyedServerTest, AnswersWaitingClientsAtShutdown) {
  OpenWith(kOneAnHour);
  EXPECT_EQ(Ask("GET", "/rate/a").status, 200);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int n = 0; n < 100; ++n) clients.push_back(Waiting("a"));
  ASSERT_TRUE(EventuallyWaiting(100));
  server_->Shutdown(minutes(10));
  for (const auto& client : clients) {
    const RawAnswer answer = client->Answer();
    EXPECT_EQ(answer.status, 503);
    EXPECT_TRUE(Has(answer.body, R"("code":"closed")")) << answer.body;
    EXPECT_TRUE(client->AtEnd());
  }
}

// Clients ask, wait, leave and give back while the file changes. Each is answered, and requests that are not given back
// count.
TEST_F(KeyedServerTest, ReloadsUnderLoad) {
  configuration_.server.io_threads = 2;
  OpenWith("keyed:\n  default: {window_millis: 20, max_requests: 5, max_requests_in_queue: 50}\n");
  std::atomic<bool> stop{false};
  std::atomic<int> unanswered{0};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int n = 0; n < 3; ++n) {
    threads.emplace_back([&, n] {
      RawClient client(server_->port());
      for (int round = 0; !stop; ++round) {
        client.Send(HttpText("GET", "/rate/k" + std::to_string(round % 3) + (n == 0 ? "" : "?canWait")));
        const int status = client.Answer().status;
        if (status == 0) {
          ++unanswered;
          return;
        }
        if (status != 200 && status != 429) ++wrong;
      }
    });
  }
  threads.emplace_back([&] {
    RawClient paced(server_->port());  // keeps new connections to the pace at which the server ends old ones
    while (!stop) {
      Waiting("k0");  // and leaves
      paced.Send(HttpText("GET", "/healthz"));
      if (!paced.ReadAnswer()) return;
    }
  });
  for (int round = 0; round < 20; ++round) {
    const std::string limit = std::to_string(1 + round % 7);
    const char* kind = round % 2 == 0 ? "fixed" : "sliding";
    directory_.Write("weir.yaml", "keyed:\n  default: {window_millis: 20, max_requests: " + limit + ", window: " +
                                      kind + "}\n  patterns: [{pattern: \"k[0-9]\", max_requests_in_queue: 50}]\n");
    server_->Reload();
    EXPECT_TRUE(Eventually([&] { return Has(Ask("GET", "/rate/other").body, R"("max_requests":)" + limit + ","); }));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(unanswered, 0);
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(EventuallyWaiting(0));
}

double Metric(uint16_t port, const std::string& name) {
  const std::string text = "\n" + AskPort(port, "GET", "/metrics").body;
  const size_t at = text.find("\n" + name + " ");
  return at == text.npos ? -1 : std::stod(text.substr(at + name.size() + 2));
}

// Ten thousand connections, each with a request in line: what they hold, and that one reload answers them all.
TEST(KeyedGate, TenThousandWait) {
  const int kClients = Sanitized() ? 500 : 10'000;
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  const rlimit before = files;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_max < static_cast<rlim_t>(kClients) + 200)
    GTEST_SKIP() << "no more than " << files.rlim_max << " files";
  const TempDirectory directory;
  const std::string config = directory.Write("weir.yaml", kOneAnHour);
  GateChild child({"--port", "0", "--config", config}, {{"WEIR_MAX_CONNECTIONS", "20000"}});
  const uint16_t port = child.Port();
  ASSERT_NE(port, 0) << child.err();
  EXPECT_EQ(AskPort(port, "GET", "/rate/a").status, 200);
  const double bytes_before = Metric(port, "process_resident_memory_bytes");
  {
    std::vector<RawClient> clients;
    clients.reserve(kClients);
    for (int n = 0; n < kClients; ++n) {
      ASSERT_TRUE(clients.emplace_back(port).Send(HttpText("GET", "/rate/a?canWait"))) << n;
    }
    ASSERT_TRUE(Eventually([&] { return Metric(port, "weir_keyed_waiting") == kClients; })) << child.err();
    const double bytes = (Metric(port, "process_resident_memory_bytes") - bytes_before) / kClients;
    RecordProperty("bytes_each", std::to_string(bytes));
    std::printf("%.0f bytes for each who waits\n", bytes);
    if (!Sanitized()) {
      EXPECT_LT(bytes, 8192);
    }
    directory.Write("weir.yaml", "keyed:\n  default: {window_millis: 3600000, max_requests: 20000}\n");
    child.Signal(SIGHUP);
    for (int n = 0; n < kClients; ++n) ASSERT_EQ(clients[n].Answer().status, 200) << n;
  }
  setrlimit(RLIMIT_NOFILE, &before);
  child.Signal(SIGTERM);
  EXPECT_EQ(child.Wait().code, 0) << child.err();
}

// One client names a million keys.
TEST(KeyedGate, KeysWithoutNumberStayBounded) {
  const int kKeys = Sanitized() ? 2'000 : 50'000;
  GateChild child({"--port", "0"}, {{"WEIR_KEYED_MAX_KEYS", "1000"}});
  const uint16_t port = child.Port();
  ASSERT_NE(port, 0) << child.err();
  RawClient client(port);
  int held = 0;
  int refused = 0;
  for (int n = 0; n < kKeys; n += 100) {
    std::string requests;
    for (int k = n; k < n + 100; ++k) requests += HttpText("GET", "/rate/" + std::to_string(k) + std::string(400, 'x'));
    client.Send(requests);
    for (int k = 0; k < 100; ++k) {
      const int status = client.Answer().status;
      held += status == 200 ? 1 : 0;
      refused += status == 503 ? 1 : 0;
    }
  }
  EXPECT_EQ(held + refused, kKeys);
  EXPECT_GE(held, 300) << "of three quarters of the room for a thousand keys, each as long as more than two";
  EXPECT_LE(Metric(port, "weir_keyed_keys"), 400);
  RawClient other(port, "127.0.0.2");
  other.Send(HttpText("GET", "/rate/another"));
  EXPECT_EQ(other.Answer().status, 200) << "one client leaves room for others";
  if (!Sanitized()) {
    EXPECT_LT(Metric(port, "process_resident_memory_bytes"), 64 << 20);
  }
}

class KeyedOnRelayTest : public RelayServerTest {
 protected:
  ~KeyedOnRelayTest() override { relay_.reset(); }

  void Open(const Environment& environment) {
    relay_.reset();
    plugin_ = std::make_unique<LimitersPlugin>();
    SettingTable table;
    plugin_->Declare(table);
    ASSERT_TRUE(table.Load(environment).ok());
    RelayServerTest::Open({plugin_.get()});
  }
  RawAnswer Ask(const std::string& path, const std::string& more = "") const {
    return AskPort(relay_->port(), "GET", path, "", more);
  }
  std::string Token() const { return "Authorization: Bearer " + ReadAdminToken(directory_ / "data") + "\r\n"; }

  std::unique_ptr<LimitersPlugin> plugin_;
};

TEST_F(KeyedOnRelayTest, ServesOnlyWhereItIsSetAndShowsItsKeysToAdministrators) {
  Open({});
  EXPECT_EQ(Ask("/rate/a").status, 404);
  Open({{"WEIR_KEYED_API", "all"}, {"WEIR_KEYED_OVERRIDES", "true"}});
  EXPECT_EQ(Ask("/rate/a?maxRequests=3").status, 200);
  EXPECT_EQ(Ask("/debug").status, 401);
  EXPECT_TRUE(Has(Ask("/debug/a", Token()).body, R"("max_requests":3)"));
  Open({{"WEIR_KEYED_API", "admins"}});
  EXPECT_EQ(Ask("/rate/a").status, 401);
  EXPECT_EQ(Ask("/rate/a", Token()).status, 200);
}

TEST_F(KeyedOnRelayTest, AnswersWaitingClientsAtShutdown) {
  Open({{"WEIR_KEYED_API", "all"}, {"WEIR_CONFIG", directory_.Write("weir.yaml", kOneAnHour)}});
  EXPECT_EQ(Ask("/rate/a").status, 200);
  RawClient client(relay_->port());
  client.Send(HttpText("GET", "/rate/a?canWait"));
  ASSERT_TRUE(Eventually([&] { return Metric(relay_->port(), "weir_keyed_waiting") == 1; }));
  relay_->Shutdown(minutes(10));
  EXPECT_EQ(client.Answer().status, 503);
}

}  // namespace
}  // namespace weir
