// The gate on a shared Redis that goes away and comes back.
// clang-format off
// First: g++ 12 takes an enumerator of a nested type for one that hides another type's.
#include "tests/fixtures/redis_process.h"
// clang-format on

#include <signal.h>
#include <sys/socket.h>

#include "tests/relay/limiters/gate_child.h"
#include "tests/relay/limiters/gate_server_fixture.h"

namespace weir {
namespace {

class QuotaRedisTest : public GateServerTest {
 protected:
  QuotaRedisTest() {
    configuration_.limiters.quota.store.store = redis_.url();
    configuration_.limiters.quota.config_file =
        directory_.Write("weir.yaml", "quota:\n  models:\n    mine: {max_rpm: 10, max_tpm: 1000}\n");
  }

  RedisProcess redis_;
};

TEST_F(QuotaRedisTest, TwoGatesShareALimit) {
  Open();
  auto second = GateServer::Open(configuration_);
  ASSERT_TRUE(second.ok()) << second.status().message();
  second.value()->Accept();
  const auto take = [](uint16_t port) {
    return AskPort(port, "POST", "/v1/decide", R"({"model":"mine","tokens":1,"charge":true})").status;
  };
  EXPECT_TRUE(Eventually([&] { return Ask("GET", "/v1/models/mine").status == 200; }));
  int allowed = 0;
  for (int n = 0; n < 10; ++n) {
    allowed += take(server_->port()) == 200 ? 1 : 0;
    allowed += take(second.value()->port()) == 200 ? 1 : 0;
  }
  EXPECT_EQ(allowed, 10);
}

TEST_F(QuotaRedisTest, ARedisThatComesBackEmptyIsToldTheQuotasAgain) {
  GateChild child({"--port", "0", "--store", redis_.url(), "--config", directory_ / "weir.yaml"});
  const uint16_t port = child.Port();
  ASSERT_NE(port, 0) << child.err();
  const auto take = [port] {
    return AskPort(port, "POST", "/v1/decide", R"({"model":"mine","tokens":1,"charge":true})").status;
  };
  EXPECT_TRUE(Eventually([&] { return take() == 200; })) << child.err();
  redis_.Kill();
  EXPECT_TRUE(Eventually([&] { return take() == 503; }));
  EXPECT_TRUE(Eventually([&] { return Has(child.err(), "is in trouble: "); })) << child.err();
  redis_.Start();
  EXPECT_TRUE(Eventually([&] { return take() == 200; }));
  EXPECT_TRUE(Eventually([&] { return Has(child.err(), "is well again, after "); })) << child.err();
  // A gate that does not know the file sees what the store was told.
  configuration_.limiters.quota.config_file.clear();
  Open();
  EXPECT_TRUE(Eventually([&] { return Has(Ask("GET", "/v1/models/mine").body, R"("max_rpm":10)"); }));
  child.Signal(SIGTERM);
  EXPECT_EQ(child.Wait().code, 0) << child.err();
}

bool HasInput(const RawClient& client) {
  char byte = 0;
  return recv(client.socket(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

// Calls are under way when the server goes, and then the gate.
TEST_F(QuotaRedisTest, EndsWhileAnswersAreOwed) {
  configuration_.limiters.quota.store.redis_timeout = std::chrono::milliseconds(2000);
  Open();
  EXPECT_TRUE(Eventually([&] { return Take("mine", 1).status == 200; }));
  redis_.Pause();
  std::vector<RawClient> clients;
  for (int n = 0; n < 20; ++n) {
    clients.emplace_back(server_->port());
    clients.back().Send(HttpText("POST", "/v1/decide", R"({"model":"mine","tokens":1})"));
  }
  EXPECT_EQ(Ask("GET", "/healthz").status, 200) << "the one I/O thread has taken those that came before";
  for (const RawClient& client : clients) EXPECT_FALSE(HasInput(client)) << "its answer is owed";
  server_->Shutdown(std::chrono::milliseconds(0));
  server_.reset();
  redis_.Resume();
  for (RawClient& client : clients) {
    const auto answer = client.ReadAnswer();
    EXPECT_TRUE(!answer || answer->status == 503) << answer->body;
    EXPECT_TRUE(client.AtEnd());
  }
}

// It says so even if it was not asked anything yet.
TEST(QuotaRedisLog, SaysWhyTheStoreCannotBeUsed) {
  RedisProcess redis({.password = "right"});
  GateChild child({"--port", "0", "--store", "redis://:wrong@" + redis.address()});
  ASSERT_NE(child.Port(), 0) << child.err();
  EXPECT_TRUE(Eventually([&] { return Has(child.err(), "WRONGPASS"); })) << child.err();
}

}  // namespace
}  // namespace weir
