// Keys with shared windows: what clients see of it, and three gates on one redis-server, each a process of its own.
#include <csignal>
#include <thread>

#include "tests/fixtures/redis_process.h"
#include "tests/relay/limiters/gate_child.h"
#include "tests/relay/limiters/gate_server_fixture.h"
#include "tests/relay/limiters/keyed/keyed_api_fixture.h"
#include "tests/relay/limiters/quota/openapi_document.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

// --- What clients see, of windows that answer when the test says so

struct HeldWindows final : SharedWindows {
  void Ask(const LeaseWish& wish, std::function<void(const LeaseAnswer&)> done) override {
    wished = wish.grants;
    answer = std::move(done);
  }
  SharedWindowsHealth Health() const override { return {.answers = answers, .problem = answers ? "" : "it sleeps"}; }

  uint32_t wished = 0;
  std::function<void(const LeaseAnswer&)> answer;
  bool answers = true;
};

class KeyedSharedApiTest : public KeyedApiTest {
 protected:
  KeyedSharedApiTest() {
    auto windows = std::make_unique<HeldWindows>();
    windows_ = windows.get();
    Open({.max_requests = 50}, {.when_away = WhenAway::kRefuse}, std::move(windows));
  }
  void Answer(const LeaseAnswer& answer) { std::exchange(windows_->answer, nullptr)(answer); }

  HeldWindows* windows_;
};

TEST_F(KeyedSharedApiTest, AnswersWhenTheLeaseHasCome) {
  const auto client = Take("a");
  EXPECT_EQ(client->status(), 0);
  Answer({.answered = true, .window = 7, .granted = 1, .used = 31, .remaining = milliseconds(400)});
  EXPECT_EQ(client->status(), 200);
  EXPECT_EQ(client->Member("used"), "31");
  EXPECT_EQ(client->Member("remaining"), "19");
  EXPECT_EQ(client->Header("RateLimit"), R"("requests";r=19;t=1)");
}

TEST_F(KeyedSharedApiTest, ForgetsAClientThatLeavesMeanwhile) {
  const auto client = Take("a"), other = Take("a");
  client->Leave();
  Answer({.answered = true, .window = 7, .granted = 1, .used = 1, .remaining = milliseconds(400)});
  EXPECT_EQ(client->status(), 499);
  EXPECT_EQ(other->status(), 200);
}

TEST_F(KeyedSharedApiTest, SaysThatTheStoreIsAwayAndWhatIsLeased) {
  const auto client = Take("a");
  const OpenApiDocument document;
  const auto see = [&](const KeyedRoute& route, const ClientPointer& shown) {
    EXPECT_EQ(document.Violation(route, *shown->response), "") << shown->body();
    return shown->body();
  };
  const std::span<const KeyedRoute> routes = KeyedApi::Routes();
  EXPECT_TRUE(
      Has(see(routes[4], Ask("GET", "/debug/a")), R"("lease":{"left":0,"batch":1,"on_its_way":true,"alone":false})"));
  windows_->answers = false;
  Answer({});
  EXPECT_EQ(client->Refusal(), "503 store_away");
  EXPECT_EQ(client->Header("Retry-After"), "1");
  see(routes[0], client);
  EXPECT_TRUE(Has(see(routes[3], Ask("GET", "/debug")),
                  R"("store":{"answers":false,"leases":1,"unanswered":1,"leased":0,"unspent":0})"));
  const std::string metrics = MetricsText();
  for (const char* line : {"weir_keyed_requests_total{code=\"store_away\"} 1", "weir_keyed_store_up 0",
                           "weir_keyed_leases_total{result=\"unanswered\"} 1", "weir_keyed_leased_total 0"})
    EXPECT_TRUE(HasLine(metrics, line)) << line << "\n" << metrics;
}

// --- Three processes

class KeyedSharedGates : public testing::Test {
 protected:
  static constexpr int kGates = 3;

  // `limits`: those of every key.
  void Start(const std::string& limits, Environment settings = {}) {
    const std::string config = directory_.Write("weir.yaml", "keyed:\n  default: {" + limits + "}\n");
    settings.emplace("WEIR_KEYED_STORE", server_.url());
    // A machine with other work must not look like one whose Redis is away.
    settings.emplace("WEIR_QUOTA_REDIS_TIMEOUT_MS", "60000");
    settings.emplace("WEIR_QUOTA_REDIS_CONNECT_TIMEOUT_MS", "60000");
    for (int i = 0; i < kGates; ++i)
      gates_.push_back(
          std::make_unique<GateChild>(std::vector<std::string>{"--port", "0", "--config", config}, settings));
    for (const auto& gate : gates_) {
      ports_.push_back(gate->Port());
      ASSERT_NE(ports_.back(), 0) << gate->err();
    }
  }
  // Returns a window that is not about to end.
  std::string LongWindow() {
    const seconds now(std::stoll(server_.Command({"TIME"}).items.at(0).text));
    const milliseconds longest = hours(24 * 31);
    const milliseconds window = now % longest < longest - hours(1) ? longest : longest - hours(24);
    return "window_millis: " + std::to_string(window.count());
  }

  // Sends this many requests from each of two clients of each gate, one after the other. Returns how many each gate
  // granted.
  std::vector<uint32_t> Hammer(const std::string& path, int each) {
    std::vector<std::atomic<uint32_t>> granted(kGates);
    std::vector<std::thread> clients;
    for (int i = 0; i < 2 * kGates; ++i) {
      clients.emplace_back([&, i] {
        RawClient client(ports_[i % kGates]);
        for (int request = 0; request < each; ++request) {
          client.Send(HttpText("POST", path));
          const int status = client.Answer().status;
          EXPECT_TRUE(status == 200 || status == 429) << status;
          if (status == 200) ++granted[i % kGates];
        }
      });
    }
    for (std::thread& client : clients) client.join();
    return {granted.begin(), granted.end()};
  }
  static uint32_t Sum(const std::vector<uint32_t>& counts) {
    uint32_t sum = 0;
    for (const uint32_t count : counts) sum += count;
    return sum;
  }
  bool EachSays(const std::string& line) const {
    return Eventually([&] {
      return std::ranges::all_of(ports_,
                                 [&](uint16_t port) { return HasLine(AskPort(port, "GET", "/metrics").body, line); });
    });
  }

  TempDirectory directory_;
  RedisProcess server_;
  std::vector<std::unique_ptr<GateChild>> gates_;
  std::vector<uint16_t> ports_;
};

TEST_F(KeyedSharedGates, LetNoMoreThanTheLimitThroughTogether) {
  constexpr uint32_t kLimit = 300;
  Start(LongWindow() + ", max_requests: " + std::to_string(kLimit));
  const uint32_t granted = Sum(Hammer("/rate/a", 200));
  EXPECT_LE(granted, kLimit);
  EXPECT_GE(granted, kLimit - kGates * kLimit / 16);
  // A limit below 32 is leased one at a time: none is lost.
  gates_.clear(), ports_.clear();
  Start(LongWindow() + ", max_requests: 31");
  EXPECT_EQ(Sum(Hammer("/rate/b", 20)), 31u);
}

TEST_F(KeyedSharedGates, LetTheLimitThroughInEachWindow) {
  constexpr uint32_t kLimit = 20, kWindow = 200;
  // A request so slow that a window passes twice on its way to Redis waits on.
  Start("window_millis: " + std::to_string(kWindow) + ", max_requests: " + std::to_string(kLimit),
        {{"WEIR_KEYED_WHEN_STORE_AWAY", "refuse"}});
  const auto number = [&] {
    const RedisAnswer time = server_.Command({"TIME"});
    return (std::stoll(time.items.at(0).text) * 1000 + std::stoll(time.items.at(1).text) / 1000) / kWindow;
  };
  const int64_t first = number();
  const uint32_t granted = Sum(Hammer("/rate/a?canWait", 40));
  EXPECT_EQ(granted, 240u);
  EXPECT_GE((number() - first + 1) * kLimit, 240);
}

TEST_F(KeyedSharedGates, ServeWaitingClientsAfterRedisIsKilledAndComesBack) {
  Start("window_millis: 300, max_requests: 5, max_requests_in_queue: 100", {{"WEIR_KEYED_WHEN_STORE_AWAY", "refuse"}});
  std::vector<RawClient> clients;
  for (int i = 0; i < 60; ++i) clients.emplace_back(ports_[i % kGates]);
  for (RawClient& client : clients) client.Send(HttpText("POST", "/rate/a?canWait"));
  EXPECT_EQ(clients.front().Answer().status, 200);
  server_.Kill();
  // If all requests have had their answer by now, no other would ask Redis.
  for (const uint16_t port : ports_) AskPort(port, "POST", "/rate/a");
  ASSERT_TRUE(EachSays("weir_keyed_store_up 0"));
  // While Redis is asked again there is no room behind the requests that wait, whatever it says.
  RawAnswer refused;
  EXPECT_TRUE(Eventually([&] {
    refused = AskPort(ports_[0], "POST", "/rate/a");
    return refused.status != 429;
  }));
  EXPECT_EQ(refused.status, 503);
  EXPECT_TRUE(Has(refused.body, "store_away")) << refused.body;
  EXPECT_EQ(AskPort(ports_[0], "GET", "/readyz").status, 503);
  server_.Start();
  for (size_t i = 1; i < clients.size(); ++i) EXPECT_EQ(clients[i].Answer().status, 200) << i;
  for (const uint16_t port : ports_) {
    EXPECT_TRUE(Eventually([&] { return HasLine(AskPort(port, "GET", "/metrics").body, "weir_keyed_waiting 0"); }));
    EXPECT_TRUE(HasLine(AskPort(port, "GET", "/metrics").body, "weir_keyed_requests_total{code=\"granted\"} 20"));
  }
  EXPECT_TRUE(EachSays("weir_keyed_store_up 1"));
  for (const auto& gate : gates_) EXPECT_TRUE(Has(gate->err(), "the store is away")) << gate->err();
}

TEST_F(KeyedSharedGates, EachLetsTheLimitThroughWhileRedisDoesNotAnswer) {
  constexpr uint32_t kLimit = 40;
  Start(LongWindow() + ", max_requests: " + std::to_string(kLimit), {{"WEIR_QUOTA_REDIS_TIMEOUT_MS", "100"}});
  EXPECT_EQ(AskPort(ports_[0], "POST", "/rate/a").status, 200);
  server_.Pause();
  const std::vector<uint32_t> granted = Hammer("/rate/a", 60);
  EXPECT_EQ(granted, std::vector<uint32_t>({kLimit - 1, kLimit, kLimit}));
  EXPECT_EQ(AskPort(ports_[0], "GET", "/readyz").status, 200);
  server_.Resume();
  ASSERT_TRUE(EachSays("weir_keyed_store_up 1"));
  // Requests that a gate let through alone count: in this window no client gets more.
  for (const uint16_t port : ports_) EXPECT_EQ(AskPort(port, "POST", "/rate/a").status, 429);
}

TEST_F(KeyedSharedGates, EndAtOnceThoughRedisDoesNotAnswer) {
  Start(LongWindow() + ", max_requests: 40", {{"WEIR_QUOTA_REDIS_TIMEOUT_MS", "60000"}});
  server_.Pause();
  std::vector<RawClient> clients;
  for (const uint16_t port : ports_) {
    clients.emplace_back(port);
    clients.back().Send(HttpText("POST", "/rate/a"));
    ASSERT_TRUE(Eventually([&] { return HasLine(AskPort(port, "GET", "/metrics").body, "weir_keyed_waiting 1"); }));
  }
  for (const auto& gate : gates_) gate->Signal(SIGTERM);
  for (RawClient& client : clients) EXPECT_EQ(client.Answer().status, 503);
  for (const auto& gate : gates_) EXPECT_EQ(gate->Wait().code, 0) << gate->err();
  server_.Resume();
}

}  // namespace
}  // namespace weir
