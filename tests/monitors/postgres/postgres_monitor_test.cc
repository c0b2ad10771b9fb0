// PostgresMonitor against real servers.
#include "monitors/postgres/postgres_monitor.h"

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "config/manual_clock.h"
#include "monitors/postgres/postgres_escapes.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/postgres_process.h"
#include "throttle/adaptive_limiter.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint64_t kTargetBytes = uint64_t{1} << 30;
constexpr uint64_t kMiB = uint64_t{1} << 20;

// PostgreSQL's own program for copying a server's log.
class LogCopy {
 public:
  explicit LogCopy(const PostgresProcess& server) {
    std::vector<std::string> words = {"pg_receivewal", "-D", directory_.path(), "-d", server.conninfo()};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    if (posix_spawnp(&pid_, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0) pid_ = -1;
  }
  ~LogCopy() {
    if (!runs()) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  LogCopy(const LogCopy&) = delete;
  LogCopy& operator=(const LogCopy&) = delete;
  bool runs() const { return pid_ > 0; }

 private:
  TempDirectory directory_;
  pid_t pid_ = -1;
};

class PostgresMonitorTest : public testing::Test {
 protected:
  // One server for all tests of a program, because starting one takes a second.
  static void SetUpTestSuite() {
    if (!PostgresProcess::IsInstalled()) return;
    Shared() = std::make_unique<PostgresProcess>(
        std::vector<std::string>{"max_wal_size=64MB", "checkpoint_timeout=1h", "wal_keep_size=256MB"});
  }
  static void TearDownTestSuite() { Shared().reset(); }
  void SetUp() override {
    if (!Shared()) GTEST_SKIP() << "no PostgreSQL is installed";
  }

  static PostgresProcess& primary() { return *Shared(); }
  std::unique_ptr<PostgresMonitor> Watch(const std::string& conninfo) {
    PostgresMonitorSettings settings;
    settings.timeout = seconds(20);
    return std::make_unique<PostgresMonitor>(conninfo, kTargetBytes, settings, clock_);
  }
  static double LevelOf(const PostgresMonitor& monitor, std::string_view signal) {
    const LoadSample sample = monitor.Sample();
    const Signal* const found = sample.Find(signal);
    return found != nullptr ? found->level : -1;
  }
  // Writes this many MiB into the server's log.
  static void Write(PostgresClient& client, int mib) {
    for (int i = 0; i < mib; ++i)
      client.Ask("SELECT pg_logical_emit_message(true, 'weir', repeat('x', " + std::to_string(kMiB) + "))");
  }

  ManualClock clock_{TimePoint(std::chrono::hours(1))};

 private:
  static std::unique_ptr<PostgresProcess>& Shared() {
    static std::unique_ptr<PostgresProcess> server;
    return server;
  }
};

TEST_F(PostgresMonitorTest, TheLogFillsUntilACheckpoint) {
  PostgresClient client(primary().conninfo());
  client.Ask("CHECKPOINT");
  const auto monitor = Watch(primary().conninfo());
  ASSERT_EQ(monitor->SampleOnce().message(), "");
  EXPECT_EQ(monitor->Details().max_wal_bytes, 64 * kMiB);
  EXPECT_GE(monitor->Details().server_version, 130000);
  const double before = LevelOf(*monitor, "wal");
  EXPECT_LT(before, 0.1);
  Write(client, 16);
  ASSERT_TRUE(monitor->SampleOnce().ok());
  EXPECT_GE(LevelOf(*monitor, "wal"), before + 0.25 / 1.6);
  EXPECT_LT(LevelOf(*monitor, "wal"), before + 0.35 / 1.6);
  EXPECT_EQ(monitor->Sample().Find("replica"), nullptr) << "there is no standby";
  EXPECT_GT(LevelOf(*monitor, "memory"), 0);
  client.Ask("CHECKPOINT");
  ASSERT_TRUE(monitor->SampleOnce().ok());
  EXPECT_LT(LevelOf(*monitor, "wal"), 0.1);
}

// A CHECKPOINT that another client requests is seen. It is no escape, because the log was not beyond its bound.
TEST_F(PostgresMonitorTest, ACheckpointThatIsRequestedIsSeen) {
  const auto monitor = Watch(primary().conninfo());
  ASSERT_TRUE(monitor->SampleOnce().ok());
  const uint64_t before = monitor->Details().requested_checkpoints;
  primary().Ask("CHECKPOINT");
  EXPECT_TRUE(
      Eventually([&] { return monitor->SampleOnce().ok() && monitor->Details().requested_checkpoints > before; }));
  EXPECT_EQ(monitor->Sample().escapes, 0U);
}

TEST(PostgresProcessTest, KnowsUsedAndWaitingMemoryWithoutTheServer) {
  ManualClock clock(TimePoint(std::chrono::hours(1)));
  PostgresMonitor monitor("host=127.0.0.1 port=1", uint64_t{1} << 30, {}, clock);
  monitor.AddOwnBytes(1 << 20, OwnUse::kWaiting);
  EXPECT_FALSE(monitor.SampleOnce().ok());
  const LoadSample process = monitor.ProcessSample();
  ASSERT_NE(process.Find("memory"), nullptr);
  EXPECT_DOUBLE_EQ(process.Find("memory")->waiting, 1.0 / 1024);
  EXPECT_DOUBLE_EQ(process.Find("own")->waiting, 8.0 / 1024);
}

TEST(PostgresEscapesTest, AreCheckpointsBeyondTheBoundAndSyncsOfSessions) {
  PostgresEscapes escapes;
  escapes.Count({.requested_checkpoints = 500, .backend_syncs = 7, .log_is_beyond = true});
  EXPECT_EQ(escapes.count(), 0U) << "what was before it is not counted";
  escapes.Count({.requested_checkpoints = 501, .backend_syncs = 7});
  EXPECT_EQ(escapes.count(), 1U) << "the log was beyond its bound before this one";
  escapes.Count({.requested_checkpoints = 502, .backend_syncs = 7});
  EXPECT_EQ(escapes.count(), 1U) << "one that keeps pace";
  escapes.Count({.requested_checkpoints = 502, .backend_syncs = 9});
  EXPECT_EQ(escapes.count(), 3U);
  escapes.Count({.requested_checkpoints = 1, .backend_syncs = 0, .log_is_beyond = true});
  EXPECT_EQ(escapes.count(), 3U) << "the server was started anew";
  escapes.Forget();
  escapes.Count({.requested_checkpoints = 800, .backend_syncs = 90});
  EXPECT_EQ(escapes.count(), 3U) << "another server";
}

// A standby that replays nothing: events pass at first, and then wait for it. Everything runs as in a relay.
TEST_F(PostgresMonitorTest, AStandbyThatLagsHoldsAnEvent) {
  PostgresProcess standby({}, &primary());
  PostgresMonitorSettings settings;
  settings.monitor.sample_interval = milliseconds(50);
  settings.timeout = seconds(20);
  settings.replica_budget_mb = 4;
  PostgresMonitor monitor(primary().conninfo(), kTargetBytes, settings);
  monitor.Start();
  AdaptiveLimiter limiter(monitor);
  limiter.Start();
  EXPECT_TRUE(Eventually([&] { return monitor.Details().standbys == 1; }));
  standby.Ask("SELECT pg_wal_replay_pause()");
  PostgresClient client(primary().conninfo());
  EXPECT_TRUE(Eventually([&] {
    client.Ask("SELECT pg_logical_emit_message(true, 'weir', 'a')");
    return standby.Ask("SELECT pg_get_wal_replay_pause_state()") == "paused";
  }));
  Write(client, 16);
  const auto event_waits = [&] {
    const Admission event = limiter.Admit(Operation::kWrite, {8 << 10});
    return !event.admitted() && limiter.Reason(Operation::kWrite) == "replica";
  };
  EXPECT_TRUE(Eventually(event_waits));
  EXPECT_EQ(limiter.View()[WorkClass::kInteractive].reason, "replica");
  standby.Ask("SELECT pg_wal_replay_resume()");
  EXPECT_TRUE(Eventually([&] { return limiter.Reason(Operation::kWrite).empty(); }));
  EXPECT_TRUE(limiter.Admit(Operation::kWrite, {8 << 10}).admitted());
}

// A copy of the log streams but replays nothing, so it holds nothing up.
TEST_F(PostgresMonitorTest, AReceiverOfTheLogIsNotAStandby) {
  const LogCopy copy(primary());
  if (!copy.runs()) GTEST_SKIP() << "no pg_receivewal is installed";
  const auto monitor = Watch(primary().conninfo());
  EXPECT_TRUE(
      Eventually([&] { return primary().Ask("SELECT state FROM pg_stat_replication LIMIT 1") == "streaming"; }));
  ASSERT_EQ(monitor->SampleOnce().message(), "");
  EXPECT_EQ(monitor->Details().standbys, 0U);
  EXPECT_EQ(monitor->Sample().Find("replica"), nullptr);
}

// Commits wait for a standby that stands still, so nothing grows and nothing lags. The gate holds incoming work, gives
// the reason, and opens when the standby is back.
TEST_F(PostgresMonitorTest, AStandbyThatStandsStillClosesTheGate) {
  PostgresProcess standby({}, &primary());
  PostgresClient client(primary().conninfo());
  primary().AwaitStandbys();
  const auto monitor = Watch(primary().conninfo());
  AdaptiveLimiter limiter(*monitor);
  const auto after_some_ticks = [&](auto&& holds) {
    return Eventually([&] {
      clock_.Advance(milliseconds(250));
      EXPECT_TRUE(monitor->SampleOnce().ok()) << monitor->LastError().message();
      limiter.Tick();
      limiter.Pump();
      return holds();
    });
  };
  EXPECT_TRUE(after_some_ticks([&] { return limiter.Reason(Operation::kWrite).empty(); }));
  standby.Pause();
  PostgresClient writer(primary().conninfo());
  writer.Send("CREATE TABLE held(a int)");
  EXPECT_TRUE(after_some_ticks([&] { return limiter.Reason(Operation::kWrite) == "standby"; }));
  std::vector<Admission> writes;
  EXPECT_TRUE(after_some_ticks([&] {
    writes.push_back(limiter.Admit(Operation::kWrite, {8 << 20}));
    return std::ranges::any_of(writes, [](Admission& write) { return write.Poll() == Admission::State::kRefused; });
  })) << "what waits for too long is refused";
  writes.clear();
  standby.Resume();
  EXPECT_TRUE(after_some_ticks([&] { return limiter.Reason(Operation::kWrite).empty(); }));
  client.Ask("ALTER SYSTEM RESET ALL");
  client.Ask("SELECT pg_reload_conf()");
}

TEST_F(PostgresMonitorTest, SessionsThatWaitForALockAreCounted) {
  PostgresClient holder(primary().conninfo());
  holder.Ask("CREATE TABLE IF NOT EXISTS wanted(a int)");
  holder.Ask("BEGIN");
  holder.Ask("LOCK TABLE wanted");
  PostgresClient waiter(primary().conninfo());
  waiter.Send("SELECT count(*) FROM wanted");
  const auto monitor = Watch(primary().conninfo());
  EXPECT_TRUE(Eventually([&] { return monitor->SampleOnce().ok() && monitor->Details().lock_waits == 1; }));
  EXPECT_EQ(LevelOf(*monitor, "waiting"), 1.0 / 16);
  holder.Ask("ROLLBACK");
  EXPECT_TRUE(Eventually([&] { return monitor->SampleOnce().ok() && monitor->Details().lock_waits == 0; }));
}

TEST_F(PostgresMonitorTest, SeesALaggingStandbyAndTheWritersThatWaitForIt) {
  PostgresProcess standby({}, &primary());
  PostgresClient client(primary().conninfo());
  const auto monitor = Watch(primary().conninfo());
  EXPECT_TRUE(Eventually([&] { return monitor->SampleOnce().ok() && monitor->Details().standbys == 1; }));
  standby.Ask("SELECT pg_wal_replay_pause()");
  // The pause takes effect with the next record.
  EXPECT_TRUE(Eventually([&] {
    client.Ask("SELECT pg_logical_emit_message(true, 'weir', 'a')");
    return standby.Ask("SELECT pg_get_wal_replay_pause_state()") == "paused";
  }));
  Write(client, 8);
  ASSERT_TRUE(monitor->SampleOnce().ok());
  EXPECT_GE(LevelOf(*monitor, "replica"), 8.0 / 64);

  client.Ask("ALTER SYSTEM SET synchronous_commit = 'remote_apply'");
  primary().AwaitStandbys();
  PostgresClient writer(primary().conninfo());
  EXPECT_TRUE(Eventually([&] { return writer.Ask("SHOW synchronous_commit") == "remote_apply"; }));
  writer.Send("CREATE TABLE IF NOT EXISTS late(a int)");
  EXPECT_TRUE(Eventually([&] { return monitor->SampleOnce().ok() && monitor->Details().standby_waits == 1; }));

  standby.Ask("SELECT pg_wal_replay_resume()");
  EXPECT_TRUE(Eventually([&] {
    return monitor->SampleOnce().ok() && monitor->Details().standby_waits == 0 && LevelOf(*monitor, "replica") < 0.01;
  }));
  client.Ask("ALTER SYSTEM RESET ALL");
  client.Ask("SELECT pg_reload_conf()");
}

TEST_F(PostgresMonitorTest, RefusesAStandbyAndFindsThePrimaryOfSeveralHosts) {
  PostgresProcess standby({}, &primary());
  const auto monitor = Watch(standby.conninfo());
  EXPECT_EQ(monitor->SampleOnce().message(),
            "PostgreSQL: this server is a standby, to which nobody writes; name the primary, or several hosts and "
            "target_session_attrs=read-write");
  const std::string both = "host=127.0.0.1,127.0.0.1 port=" + std::to_string(standby.port()) + "," +
                           std::to_string(primary().port()) +
                           " user=weir dbname=postgres target_session_attrs=read-write";
  EXPECT_EQ(Watch(both)->SampleOnce().message(), "");
}

TEST_F(PostgresMonitorTest, ErrorsTellTheCauseButNoPassword) {
  PostgresClient client(primary().conninfo());
  client.Ask("DROP ROLE IF EXISTS stranger");
  client.Ask("CREATE ROLE stranger LOGIN");
  const std::string port = std::to_string(primary().port());
  struct Case {
    std::string conninfo;
    std::string_view error;
  };
  for (const Case& c : {
           Case{"host=127.0.0.1 port=" + port + " user=stranger dbname=postgres",
                "PostgreSQL: the role stranger may not see what others wait for; GRANT pg_monitor TO it"},
           Case{"host=127.0.0.1 port=" + port + " user=weir dbname=nowhere", "database \"nowhere\" does not exist"},
           Case{"host=127.0.0.1 port=" + port + " user=nobody dbname=postgres", "role \"nobody\" does not exist"},
           Case{"host=127.0.0.1 port=1 user=weir password=SECRET", "Connection refused"},
           Case{"postgres://weir:SECRET@/x?nothing=1", "PostgreSQL: this is not a connection string"},
           Case{"password=SECRET x", "PostgreSQL: this is not a connection string"},
       }) {
    const std::string said = Watch(c.conninfo)->SampleOnce().message();
    EXPECT_NE(said.find(c.error), std::string::npos) << said;
    EXPECT_EQ(said.find("SECRET"), std::string::npos) << said;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  }
  // A role that would need SET ROLE first sees nothing either.
  client.Ask("ALTER ROLE stranger NOINHERIT");
  client.Ask("GRANT pg_monitor TO stranger");
  EXPECT_NE(Watch("host=127.0.0.1 port=" + port + " user=stranger dbname=postgres")->SampleOnce().message(), "");
  client.Ask("ALTER ROLE stranger INHERIT");
  EXPECT_EQ(Watch("host=127.0.0.1 port=" + port + " user=stranger dbname=postgres")->SampleOnce().message(), "");
}

TEST_F(PostgresMonitorTest, AServerThatDiesIsFoundAgain) {
  PostgresProcess server;
  const auto monitor = Watch(server.conninfo());
  ASSERT_EQ(monitor->SampleOnce().message(), "");
  const auto sampled_at = monitor->Sample().time;
  clock_.Advance(seconds(5));
  server.Kill();
  EXPECT_FALSE(monitor->SampleOnce().ok());
  EXPECT_EQ(monitor->Sample().time, sampled_at) << "the last good one stands";
  EXPECT_EQ(monitor->ProcessSample().time, clock_.Now()) << "what this process feels is known";
  const std::string lost = monitor->LastError().message();
  server.Restart();
  EXPECT_EQ(monitor->SampleOnce().message(), lost) << "it is not asked again in the same second";
  clock_.Advance(seconds(1));
  EXPECT_EQ(monitor->SampleOnce().message(), "");
  EXPECT_EQ(monitor->Sample().time, clock_.Now());
}

TEST_F(PostgresMonitorTest, AServerThatDoesNotAnswerIsNotWaitedFor) {
  PostgresProcess server;
  PostgresMonitorSettings settings;
  settings.timeout = milliseconds(50);
  PostgresMonitor monitor(server.conninfo(), kTargetBytes, settings, clock_);
  ASSERT_TRUE(Eventually([&] {
    clock_.Advance(seconds(1));
    return monitor.SampleOnce().ok();
  }));
  server.Pause();
  EXPECT_EQ(monitor.SampleOnce().message(), "PostgreSQL: no answer in time");
  clock_.Advance(seconds(1));
  EXPECT_EQ(monitor.SampleOnce().message(),
            "PostgreSQL: no answer in time from 127.0.0.1:" + std::to_string(server.port()))
      << "nor is it connected to";
  server.Resume();
  EXPECT_TRUE(Eventually([&] {
    clock_.Advance(seconds(1));
    return monitor.SampleOnce().ok();
  }));
}

}  // namespace
}  // namespace weir
