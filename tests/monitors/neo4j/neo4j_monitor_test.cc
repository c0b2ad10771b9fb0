// Neo4jMonitor against a real server, which is started once for all tests.
#include "monitors/neo4j/neo4j_monitor.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "config/manual_clock.h"
#include "config/settings.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/neo4j_process.h"
#include "throttle/adaptive_limiter.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint64_t kTargetBytes = uint64_t{1} << 30;
constexpr Duration kPatience = seconds(60);

double Level(const Neo4jMonitor& monitor, std::string_view signal) {
  const LoadSample sample = monitor.Sample();
  const Signal* const found = sample.Find(signal);
  return found != nullptr ? found->level : -1;
}

TEST(Neo4jUrlTest, SaysWhereAServerIs) {
  const auto plain = ParseNeo4jUrl("http://neo4j:p%40ss@graph.example:7474/notes");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain.value().host, "graph.example");
  EXPECT_EQ(plain.value().password, "p@ss");
  EXPECT_EQ(plain.value().database, "notes");
  EXPECT_FALSE(plain.value().tls);
  const auto secure = ParseNeo4jUrl("https://[::1]");
  ASSERT_TRUE(secure.ok());
  EXPECT_EQ(secure.value().host, "::1");
  EXPECT_EQ(secure.value().port, 7473);
  EXPECT_EQ(secure.value().database, "neo4j");
  EXPECT_TRUE(secure.value().tls);
  const auto own_authority = ParseNeo4jUrl("https://host/notes?ca=/etc/a%20ca.crt");
  ASSERT_TRUE(own_authority.ok());
  EXPECT_EQ(own_authority.value().database, "notes");
  EXPECT_EQ(own_authority.value().ca_file, "/etc/a ca.crt");
  for (const char* const wrong :
       {"", "neo4j://host", "bolt://host:7687", "http://", "http://host:x", "http://host:0", "http://host/a b",
        "http://host/a\r\nX: y", "http://host/notes/tx", "http://host/notes?x=y", "http://host?x",
        "https://host?ca=", "http://host/notes?ca=FILE", "http://[::1"})
    EXPECT_FALSE(ParseNeo4jUrl(wrong).ok()) << wrong;
  EXPECT_EQ(ParseNeo4jUrl("http://neo4j:secret@:7").status().message().find("secret"), std::string::npos);
}

TEST(Neo4jMonitorTest, AdvisesByTwiceTheLatencyOfAnEmbeddedEngine) {
  struct Case {
    milliseconds latency;
    bool writes;
    bool reads;
  };
  for (const Case& c : {Case{milliseconds(100), false, false}, Case{milliseconds(101), true, false},
                        Case{milliseconds(200), true, false}, Case{milliseconds(201), true, true}}) {
    Neo4jMonitor monitor({.host = "127.0.0.1", .port = 1}, uint64_t{1} << 30);
    monitor.RecordWriteLatency(c.latency);
    monitor.RecordReadLatency(c.latency);
    EXPECT_EQ(monitor.ShouldThrottleWrites(), c.writes) << c.latency.count();
    EXPECT_EQ(monitor.ShouldThrottleReads(), c.reads) << c.latency.count();
  }
}

TEST(Neo4jMonitorTest, AServerThatIsNotThereIsASampleThatFailed) {
  ManualClock clock(TimePoint(std::chrono::hours(1)));
  Neo4jMonitor monitor({.host = "127.0.0.1", .port = 1}, kTargetBytes, {}, clock);
  EXPECT_EQ(monitor.SampleOnce().message(), "Neo4j: cannot connect to 127.0.0.1:1: Connection refused");
  EXPECT_FALSE(monitor.Sample().time.has_value());
  monitor.AddOwnBytes(1 << 20, OwnUse::kWaiting);
  EXPECT_FALSE(monitor.SampleOnce().ok());
  const LoadSample process = monitor.ProcessSample();
  ASSERT_NE(process.Find("memory"), nullptr) << "what this process feels is known";
  EXPECT_DOUBLE_EQ(process.Find("memory")->waiting, 1.0 / 1024) << "and what of it waits";
  EXPECT_DOUBLE_EQ(process.Find("own")->waiting, 8.0 / 1024);
  EXPECT_FALSE(monitor.SampleOnce().ok()) << "for a second it is not asked again";
}

class Neo4jServerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (Neo4jProcess::IsInstalled()) Shared() = std::make_unique<Neo4jProcess>();
  }
  static void TearDownTestSuite() { Shared().reset(); }
  void SetUp() override {
    if (!Shared()) GTEST_SKIP() << "no Neo4j: .ci/test-tools brings one, where there are java and mvn";
  }

  static Neo4jProcess& server() { return *Shared(); }
  std::unique_ptr<Neo4jMonitor> Watch(Neo4jMonitorSettings settings = {}) {
    settings.timeout = seconds(60);
    return std::make_unique<Neo4jMonitor>(server().address(), kTargetBytes, settings, clock_);
  }

  ManualClock clock_{TimePoint(std::chrono::hours(1))};

 private:
  static std::unique_ptr<Neo4jProcess>& Shared() {
    static std::unique_ptr<Neo4jProcess> server;
    return server;
  }
};

TEST_F(Neo4jServerTest, AnIdleServerFeelsNothing) {
  const auto monitor = Watch();
  ASSERT_TRUE(monitor->SampleOnce().ok()) << monitor->LastError().message();
  EXPECT_EQ(Level(*monitor, "transactions"), 0);
  EXPECT_EQ(Level(*monitor, "latency"), 0);
  EXPECT_GE(Level(*monitor, "round_trip"), 0);
  EXPECT_GT(monitor->Details().max_heap_bytes, uint64_t{100} << 20);
  EXPECT_GE(Level(*monitor, "heap"), 0);
  EXPECT_LT(Level(*monitor, "heap"), 1);
}

// An open transaction shows, no matter who opened it.
TEST_F(Neo4jServerTest, ShowsTransactionsOfOthers) {
  Neo4jMonitorSettings settings;
  settings.transaction_threshold = 2;
  const auto monitor = Watch(settings);
  std::vector<std::thread> others;
  for (int i = 0; i < 3; ++i)
    others.emplace_back([] {
      const auto slept = Neo4jSession(server().address())
                             .Commit({{"UNWIND range(1, 30000000) AS x WITH sum(x * x % 7) AS s RETURN s"}}, kPatience);
      EXPECT_TRUE(slept.ok()) << slept.status().message();
    });
  EXPECT_TRUE(Eventually([&] { return monitor->SampleOnce().ok() && monitor->Details().transactions >= 2; }));
  EXPECT_GE(Level(*monitor, "transactions"), 1);
  for (std::thread& other : others) other.join();
}

// Over HTTP, requests wait before their transactions begin, so requests that the program has sent count, too.
TEST_F(Neo4jServerTest, OwnTransactionsCountFromTheirSendingToTheirAnswer) {
  Neo4jMonitorSettings settings;
  settings.transaction_threshold = 4;
  settings.latency_threshold = milliseconds(100);
  const auto monitor = Watch(settings);
  {
    const auto first = monitor->Begin(3000);
    const auto second = monitor->Begin(1000);
    ASSERT_TRUE(monitor->SampleOnce().ok());
    EXPECT_EQ(Level(*monitor, "transactions"), 0.5);
    clock_.Advance(milliseconds(200));
  }
  ASSERT_TRUE(monitor->SampleOnce().ok());
  EXPECT_EQ(Level(*monitor, "transactions"), 0);
  EXPECT_EQ(Level(*monitor, "latency"), 2);
  EXPECT_EQ(monitor->Sample().Find("transactions")->bytes_per_level, 4 * 2500 * 2.5)
      << "most bytes came in 3,000, and in half a second two and a half come one after the other";
  EXPECT_EQ(monitor->WriteLatency(), milliseconds(200));
  // Old latencies do not hold work back for ever.
  ASSERT_TRUE(monitor->SampleOnce().ok());
  EXPECT_EQ(Level(*monitor, "latency"), 2);
  ASSERT_TRUE(monitor->SampleOnce().ok());
  EXPECT_EQ(Level(*monitor, "latency"), 0);
}

TEST_F(Neo4jServerTest, AdvisesToThrottleReadsLaterThanWrites) {
  Neo4jMonitorSettings settings;
  settings.transaction_threshold = 3;
  settings.latency_threshold = seconds(60);
  const auto monitor = Watch(settings);
  const std::pair<size_t, std::pair<bool, bool>> cases[] = {
      {3, {false, false}}, {4, {true, false}}, {5, {true, false}}, {6, {true, true}}};
  for (const auto& [open, advice] : cases) {
    std::vector<Neo4jMonitor::Transaction> transactions;
    for (size_t n = 0; n < open; ++n) transactions.push_back(monitor->Begin(1));
    ASSERT_TRUE(monitor->SampleOnce().ok());
    EXPECT_EQ(std::pair(monitor->ShouldThrottleWrites(), monitor->ShouldThrottleReads()), advice) << open;
  }
}

// It counts neither as fast nor as slow, even after it was moved to another holder.
TEST_F(Neo4jServerTest, ATransactionThatFailedLeavesLatencyAndBytesAlone) {
  const auto monitor = Watch();
  {
    auto failed = monitor->Begin(1 << 20);
    failed.Failed();
    const auto moved = std::move(failed);
    clock_.Advance(seconds(9));
  }
  { const auto empty = monitor->Begin(0); }
  ASSERT_TRUE(monitor->SampleOnce().ok());
  EXPECT_EQ(monitor->Details().in_flight, 0U);
  EXPECT_EQ(Level(*monitor, "latency"), 0);
  EXPECT_EQ(monitor->WriteLatency(), milliseconds(0));
  EXPECT_LT(monitor->Sample().Find("transactions")->bytes_per_level, 15 * 1024 * 500.0 * 1000)
      << "of the usual size, times the rounds of half a second";
}

TEST_F(Neo4jServerTest, TheSettingsOfTheEnvironmentReachTheLevel) {
  Neo4jMonitorSettings settings;
  SettingTable table;
  Declare(table, settings);
  ASSERT_TRUE(
      table.Load({{"WEIR_RATE_LIMIT_NEO4J_TXN_THRESHOLD", "4"}, {"WEIR_RATE_LIMIT_NEO4J_LATENCY_THRESHOLD_MS", "100"}})
          .ok());
  const auto monitor = Watch(settings);
  const auto running = monitor->Begin(1000);
  {
    const auto ended = monitor->Begin(1000);
    clock_.Advance(milliseconds(50));
  }
  ASSERT_TRUE(monitor->SampleOnce().ok());
  EXPECT_EQ(Level(*monitor, "transactions"), 0.25);
  EXPECT_EQ(Level(*monitor, "latency"), 0.5);
}

// The server answers 200, and reports the error in the body.
TEST_F(Neo4jServerTest, AnErrorInTheBodyIsAnError) {
  Neo4jSession session(server().address());
  const auto wrong = session.Commit({{"RETURN"}}, kPatience);
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.status().message().find("Neo.ClientError.Statement.SyntaxError"), std::string::npos)
      << wrong.status().message();
  EXPECT_TRUE(session.Commit({{"RETURN $x", R"({"x":1})"}}, kPatience).ok()) << "the connection is still good";
}

TEST_F(Neo4jServerTest, WrongCredentialsAndAWrongDatabaseAreSaid) {
  Neo4jAddress address = server().address();
  address.database = "nothing";
  EXPECT_NE(Neo4jSession(address).Commit({{"RETURN 1"}}, kPatience).status().message().find("DatabaseNotFound"),
            std::string::npos);
  address = server().address();
  address.password = "not-this-one";
  Neo4jMonitor monitor(address, kTargetBytes, {}, clock_);
  const std::string message = monitor.SampleOnce().message();
  EXPECT_NE(message.find("Unauthorized"), std::string::npos) << message;
  EXPECT_EQ(message.find("not-this-one"), std::string::npos) << "the password is nobody's business";
}

// A server that stands still first counts as slow, and that is a sample; in the end it is lost.
TEST_F(Neo4jServerTest, AServerThatStandsStillIsSlowThenLostAndFoundAgain) {
  Neo4jMonitorSettings settings;
  settings.timeout = milliseconds(300);
  Neo4jMonitor monitor(server().address(), kTargetBytes, settings, clock_);
  ASSERT_TRUE(Eventually([&] {
    clock_.Advance(seconds(2));
    return monitor.SampleOnce().ok();
  }));
  server().Pause();
  const auto mine = monitor.Begin(100);
  EXPECT_EQ(monitor.SampleOnce().message(), "");
  EXPECT_GE(Level(monitor, "round_trip"), 300.0 / 200);
  EXPECT_EQ(monitor.Details().in_flight, 1U);
  EXPECT_EQ(Level(monitor, "transactions"), 1.0 / 15) << "those that the program knows of";
  clock_.Advance(seconds(2));
  EXPECT_NE(monitor.SampleOnce().message().find("no answer from"), std::string::npos);
  server().Resume();
  EXPECT_TRUE(Eventually([&] {
    clock_.Advance(seconds(2));
    return monitor.SampleOnce().ok();
  }));
}

// Bulk writers never stop: the throttle keeps their transactions near the threshold.
TEST_F(Neo4jServerTest, TheThrottleHoldsBulkWritersBack) {
  Neo4jMonitorSettings settings;
  settings.timeout = seconds(10);
  settings.transaction_threshold = 2;
  Neo4jMonitor monitor(server().address(), kTargetBytes, settings);
  AdaptiveLimiter limiter(monitor, LimiterSettings{});
  monitor.Start();
  limiter.Start();
  std::atomic<bool> stop = false;
  std::vector<std::thread> writers;
  for (int i = 0; i < 8; ++i)
    writers.emplace_back([&] {
      Neo4jSession session(server().address());
      while (!stop) {
        constexpr uint64_t kBytes = 2000;
        Admission admission = limiter.Admit(Operation::kWrite, {.bytes = kBytes}, {.work_class = WorkClass::kBulk});
        admission.Wait();  // until Stop at the latest
        if (stop) return;
        const auto transaction = monitor.Begin(kBytes);
        (void)session.Commit({{"UNWIND range(1, 20) AS x CREATE (:Note {number: x})"}}, kPatience);
      }
    });
  EXPECT_TRUE(Eventually([&] {
    const LimiterView::Write bulk = limiter.View()[WorkClass::kBulk];
    return !bulk.open && (bulk.reason == "transactions" || bulk.reason == "latency" || bulk.reason == "round_trip");
  }));
  stop = true;
  limiter.Stop();
  for (std::thread& writer : writers) writer.join();
}

}  // namespace
}  // namespace weir
