// Faults of the database and of the bus: clients, metrics and /readyz are told whose fault it is, and why.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "config/text/parse.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "relay/relay.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/random_nostr.h"
#include "tests/fixtures/redis_process.h"
#include "tests/fixtures/temp_directory.h"
#include "tests/fixtures/web_client.h"
#include "tests/relay/store/postgres/postgres_fixture.h"

namespace weir {
namespace {

// Holds the servers of a relay.
struct Stage {
  PostgresProcess postgres{{"fsync=off"}};
  std::optional<RedisProcess> redis;
  std::unique_ptr<PostgresClient> holds_lock;

  void Set(const std::string& setting) const {
    postgres.Ask("ALTER SYSTEM " + setting);
    postgres.Ask("SELECT pg_reload_conf()");
  }
};

struct Fault {
  const char* name;
  std::function<void(Stage& stage)> begin;
  std::function<void(Stage& stage)> end;
  const char* event;    // a part of the answer to an EVENT; empty: it is saved
  const char* request;  // a part of the answer to a REQ; empty: it is answered
  const char* cause;    // the labels of the counter that goes up
  const char* ready;    // a part of what /readyz says
  bool by_redis = false;
  bool times_out = false;  // the relay shows it only when an answer comes too late
};
void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

constexpr const char* kIsReady = "ready\n";

class FaultCauses : public testing::TestWithParam<Fault> {
 protected:
  void Open() {
    RelayConfiguration configuration;
    configuration.data_dir = directory_.path();
    configuration.server.port = 0;
    configuration.storage.memory.target_memory_mb = 4096;
    configuration.storage.store = "postgres://weir@127.0.0.1:" + std::to_string(stage_.postgres.port()) + "/postgres";
    configuration.storage.postgres.origin = "here";
    configuration.storage.postgres.timeout = std::chrono::seconds(GetParam().times_out ? 3 : 20);
    if (GetParam().by_redis) configuration.storage.siblings.bus = stage_.redis.emplace().url();
    auto opened = Relay::Open(configuration);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    relay_ = std::move(opened).value();
    relay_->Accept();
  }
  std::string Ready() const { return HttpGet(relay_->port(), "/readyz").second; }
  // Returns the answer to a new EVENT.
  std::string Publish(uint16_t kind = 1) {
    WebClient client(relay_->port());
    const std::string content = "number " + std::to_string(++notes_);
    client.Send("[\"EVENT\"," + signer_.SignedEvent(WallClock::System().NowSeconds(), kind, "[]", content) + "]");
    const std::vector<std::string> answers = client.ReadUntil("[\"OK\"");
    return answers.empty() ? "" : answers.back();
  }
  // Returns a CLOSED, or an EOSE.
  std::string Ask() const {
    WebClient client(relay_->port());
    client.Send(R"(["REQ","q",{"kinds":[1],"limit":1}])");
    for (;;) {
      const std::optional<std::string> answer = client.Read();
      if (!answer || answer->starts_with("[\"EOSE\"") || answer->starts_with("[\"CLOSED\"")) return answer.value_or("");
    }
  }
  // Returns -1 if there is no such counter.
  double Failures(const std::string& labels) const {
    const std::string all = HttpGet(relay_->port(), "/metrics").second;
    const std::string begin = "\nweir_failures_total{" + labels + "} ";
    const size_t at = all.find(begin);
    return at == all.npos ? -1 : std::stod(all.substr(at + begin.size()));
  }
  static bool IsAsExpected(const std::string& answer, const char* part, const char* good) {
    return *part == '\0' ? Has(answer, good) : Has(answer, part);
  }

  const TempDirectory directory_;
  Stage stage_;
  Signer signer_{7};
  int notes_ = 0;
  std::unique_ptr<Relay> relay_;
};

TEST_P(FaultCauses, AreTold) {
  const Fault& fault = GetParam();
  Open();
  ASSERT_TRUE(relay_ != nullptr);
  // Afterwards there is a connection that reads, and one that writes.
  ASSERT_TRUE(Eventually([&] { return Has(Publish(), ",true,") && Has(Ask(), "EOSE") && Ready() == kIsReady; }));
  const double before = Failures(fault.cause);
  const double of_clients = Failures(R"(fault="client",reason="client")");
  ASSERT_GE(before, 0) << fault.cause;
  fault.begin(stage_);
  std::string told;
  EXPECT_TRUE(Eventually([&] { return IsAsExpected(told = Publish(), fault.event, ",true,"); })) << told;
  EXPECT_TRUE(Eventually([&] { return IsAsExpected(told = Ask(), fault.request, "EOSE"); })) << told;
  EXPECT_TRUE(Eventually([&] {
    Publish();
    if (Has(told = Ready(), fault.ready)) return true;
    Ask();
    return Has(told = Ready(), fault.ready);
  })) << told;
  EXPECT_TRUE(Eventually([&] {
    if (fault.by_redis) Publish(20001);  // only ephemeral events need the bus
    return (*fault.event == '\0' && !fault.by_redis) || Failures(fault.cause) > before;
  }));
  fault.end(stage_);
  EXPECT_TRUE(Eventually([&] { return Has(told = Publish(), ",true,"); })) << told;
  EXPECT_TRUE(Eventually([&] { return Has(told = Ask(), "EOSE"); })) << told;
  EXPECT_TRUE(Eventually([&] { return (told = Ready()) == kIsReady; })) << told;
  EXPECT_EQ(Failures(R"(fault="client",reason="client")"), of_clients) << "no client did anything wrong";
}

INSTANTIATE_TEST_SUITE_P(
    , FaultCauses,
    testing::Values(
        Fault{.name = "ServerIsGone",
              .begin = [](Stage& stage) { stage.postgres.Kill(); },
              .end = [](Stage& stage) { stage.postgres.Restart(); },
              .event = "error: the store cannot be read: the database is away",
              .request = "error: the store cannot be read: the database is away",
              .cause = R"(fault="database",reason="away")",
              .ready = "the database is away"},
        Fault{.name = "ServerIsStopped",
              .begin = [](Stage& stage) { stage.postgres.Pause(); },
              .end = [](Stage& stage) { stage.postgres.Resume(); },
              .event = "error: the store cannot be read: the database does not answer in time",
              .request = "error: the store cannot be read: the database does not answer in time",
              .cause = R"(fault="database",reason="slow")",
              .ready = "the database does not answer in time",
              .times_out = true},
        Fault{.name = "ServerIsReadOnly",
              .begin = [](Stage& stage) { stage.Set("SET default_transaction_read_only = on"); },
              .end = [](Stage& stage) { stage.Set("RESET default_transaction_read_only"); },
              .event = "error: could not be stored: the database takes no writes",
              .request = "",
              .cause = R"(fault="database",reason="read_only")",
              .ready = "events cannot be stored: the database takes no writes"},
        Fault{.name = "ReadsWaitForALock",
              .begin =
                  [](Stage& stage) {
                    stage.holds_lock = std::make_unique<PostgresClient>(stage.postgres.conninfo());
                    stage.holds_lock->Ask("BEGIN");
                    stage.holds_lock->Ask("LOCK TABLE weir_events IN ACCESS EXCLUSIVE MODE");
                  },
              .end = [](Stage& stage) { stage.holds_lock.reset(); },
              .event = "the database does not answer in time",
              .request = "error: the store cannot be read: the database does not answer in time",
              .cause = R"(fault="database",reason="slow")",
              .ready = "events cannot be read: the database does not answer in time",
              .times_out = true},
        Fault{.name = "DiskIsFull",
              .begin =
                  [](Stage& stage) {
                    stage.postgres.Ask(
                        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
                        " $$BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END$$");
                    stage.postgres.Ask("CREATE TRIGGER refuses BEFORE INSERT ON weir_events EXECUTE FUNCTION refuse()");
                  },
              .end = [](Stage& stage) { stage.postgres.Ask("DROP TRIGGER refuses ON weir_events"); },
              .event = "error: could not be stored: the disk of the database is full",
              .request = "",
              .cause = R"(fault="database",reason="full")",
              .ready = "events cannot be stored: the disk of the database is full"},
        Fault{.name = "StandbyIsMissing",
              .begin = [](Stage& stage) { stage.Set("SET synchronous_standby_names = 'nobody'"); },
              .end = [](Stage& stage) { stage.Set("RESET synchronous_standby_names"); },
              .event = "standby",
              .request = "",
              .cause = R"(fault="database",reason="standby")",
              .ready = "events cannot be stored: a standby of the database is missing",
              .times_out = true},
        Fault{.name = "RedisIsGone",
              .begin = [](Stage& stage) { stage.redis->Kill(); },
              .end = [](Stage& stage) { stage.redis->Start(); },
              .event = "",
              .request = "",
              .cause = R"(fault="bus",reason="lost")",
              .ready = "ready, but the bus is down",
              .by_redis = true},
        Fault{.name = "ListenIsCut",
              .begin =
                  [](Stage& stage) {
                    stage.postgres.Ask(
                        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE '%LISTEN%'"
                        " AND pid <> pg_backend_pid()");
                  },
              .end = [](Stage&) {},
              .event = "",
              .request = "",
              .cause = R"(fault="bus",reason="lost")",
              .ready = "ready"}),
    [](const auto& info) { return std::string(info.param.name); });

// A client's own fault is no other's, and the relay is ready.
TEST(FaultCausesOfClients, AreTold) {
  PostgresDatabase database;
  const TempDirectory directory;
  RelayConfiguration configuration;
  configuration.data_dir = directory.path();
  configuration.server.port = 0;
  configuration.relay.max_subscriptions = 1;
  configuration.storage.memory.target_memory_mb = 4096;
  configuration.storage.store = database.url();
  auto relay = Relay::Open(configuration);
  ASSERT_TRUE(relay.ok()) << relay.status().message();
  relay.value()->Accept();
  WebClient client(relay.value()->port());
  std::string forged = Signer(7).SignedEvent(WallClock::System().NowSeconds(), 1, "[]", "forged");
  const size_t signature = forged.find("\"sig\":\"") + 7;
  forged[signature] = forged[signature] == '0' ? '1' : '0';
  client.Send("[\"EVENT\"," + forged + "]");
  EXPECT_TRUE(Has(Join(client.ReadUntil("[\"OK\""), " "), "false,\"invalid:"));
  client.Send(R"(["REQ","one",{"kinds":[1]}])");
  client.ReadUntil("[\"EOSE\"");
  client.Send(R"(["REQ","two",{"kinds":[1]}])");
  EXPECT_TRUE(Has(Join(client.ReadUntil("[\"CLOSED\""), " "), "too many subscriptions"));
  const auto metrics = [&] { return HttpGet(relay.value()->port(), "/metrics").second; };
  EXPECT_TRUE(Eventually([&] { return Has(metrics(), R"(weir_failures_total{fault="client",reason="client"} 2)"); }));
  EXPECT_TRUE(Has(metrics(), R"(weir_failures_total{fault="relay",reason="fault"} 0)"));
  EXPECT_EQ(HttpGet(relay.value()->port(), "/readyz").second.substr(0, 5), "ready");
}

}  // namespace
}  // namespace weir
