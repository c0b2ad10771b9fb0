// MyRocksMonitor against real servers.
#include "monitors/myrocks/myrocks_monitor.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "config/manual_clock.h"
#include "monitors/myrocks/myrocks_figures.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/mariadb_process.h"
#include "tests/fixtures/silent_port.h"
#include "throttle/adaptive_limiter.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint64_t kTargetBytes = uint64_t{1} << 30;
constexpr seconds kPatience{20};

class MyRocksMonitorTest : public testing::Test {
 protected:
  // One server for all tests of a program, because starting one takes a second.
  static void SetUpTestSuite() {
    if (!MariadbProcess::IsInstalled()) return;
    Shared() = std::make_unique<MariadbProcess>(std::vector<std::string>{
        "--rocksdb-default-cf-options=write_buffer_size=1m;max_write_buffer_number=6;level0_slowdown_writes_trigger=20;"
        "level0_stop_writes_trigger=30;level0_file_num_compaction_trigger=5;soft_pending_compaction_bytes_limit=1g",
        "--rocksdb-rate-limiter-bytes-per-sec=33554432"});
  }
  static void TearDownTestSuite() { Shared().reset(); }
  void SetUp() override {
    if (!Shared()) GTEST_SKIP() << "no MyRocks is installed";
  }

  static MariadbProcess& server() { return *Shared(); }
  std::unique_ptr<MyRocksMonitor> Watch(const MysqlAddress& address) {
    return std::make_unique<MyRocksMonitor>(address, kTargetBytes, MyRocksMonitorSettings{.timeout = kPatience},
                                            clock_);
  }
  static MyRocksFigures Figures() {
    MysqlSession session(server().address());
    EXPECT_EQ(session.Connect(kPatience).message(), "");
    const auto rows = session.Ask(MyRocksQuestion(), kPatience);
    EXPECT_TRUE(rows.ok()) << rows.status().message();
    const auto figures = ReadMyRocksFigures(rows.value());
    EXPECT_TRUE(figures.ok()) << figures.status().message();
    return figures.value();
  }

  ManualClock clock_{TimePoint(std::chrono::hours(1))};

 private:
  static std::unique_ptr<MariadbProcess>& Shared() {
    static std::unique_ptr<MariadbProcess> server;
    return server;
  }
};

TEST_F(MyRocksMonitorTest, TheServersFiguresAreRead) {
  const MyRocksFigures before = Figures();
  const LsmOptions& options = before.families.at("default").options;
  EXPECT_EQ(options.write_buffer_size, 1U << 20);
  EXPECT_EQ(options.max_write_buffer_number, 6);
  EXPECT_EQ(options.level0_file_num_compaction_trigger, 5);
  EXPECT_EQ(options.level0_slowdown_writes_trigger, 20);
  EXPECT_EQ(options.level0_stop_writes_trigger, 30);
  EXPECT_EQ(options.soft_pending_compaction_bytes_limit, 1U << 30);
  EXPECT_EQ(before.io_limit_bytes_per_second, 32 << 20);

  server().Ask("CREATE OR REPLACE TABLE files(a int PRIMARY KEY, b mediumtext) ENGINE = rocksdb");
  server().Ask("SET GLOBAL rocksdb_force_flush_memtable_and_lzero_now = 1");
  const MyRocksFigures empty = Figures();
  EXPECT_EQ(empty.families.at("default").counters.l0_files, 0);
  for (int file = 1; file <= 3; ++file) {
    server().Ask("INSERT INTO files VALUES (" + std::to_string(file) + ", repeat('x', 100000))");
    server().Ask("SET GLOBAL rocksdb_force_flush_memtable_now = 1");
    EXPECT_EQ(Figures().families.at("default").counters.l0_files, file);
  }
  const MyRocksFigures after = Figures();
  EXPECT_GT(after.user_bytes, empty.user_bytes + 300'000);
  EXPECT_GT(after.families.at("default").counters.flushed_bytes, empty.families.at("default").counters.flushed_bytes);
  server().Ask("SET GLOBAL rocksdb_force_flush_memtable_and_lzero_now = 1");
  EXPECT_EQ(Figures().families.at("default").counters.l0_files, 0);
  EXPECT_GT(Figures().families.at("default").counters.base_level_bytes, 0);
}

// RocksDB may not flush: the memtables fill, bulk work waits for them, and passes again when it may.
TEST_F(MyRocksMonitorTest, MemtablesThatAreNotFlushedHoldBulkWork) {
  const auto monitor = Watch(server().address());
  AdaptiveLimiter limiter(*monitor);
  const auto after_some_ticks = [&](auto&& holds) {
    return Eventually([&] {
      clock_.Advance(milliseconds(250));
      EXPECT_EQ(monitor->SampleOnce().message(), "");
      limiter.Tick();
      limiter.Pump();
      return holds();
    });
  };
  server().Ask("CREATE OR REPLACE TABLE held(a int PRIMARY KEY, b mediumtext) ENGINE = rocksdb");
  server().Ask("SET GLOBAL rocksdb_pause_background_work = 1");
  for (int i = 0; i < 10; ++i) server().Ask("INSERT INTO held VALUES (" + std::to_string(i) + ", repeat('x', 500000))");
  const auto reason = [&] { return limiter.Reason(Operation::kWrite, WorkClass::kBulk); };
  EXPECT_TRUE(after_some_ticks([&] { return reason() == "memtables"; }));
  EXPECT_GT(monitor->Sample().LevelOf("memtables"), 0.7);
  EXPECT_FALSE(limiter.View()[WorkClass::kBulk].open);
  server().Ask("SET GLOBAL rocksdb_pause_background_work = 0");
  EXPECT_TRUE(after_some_ticks([&] { return reason().empty(); }));
}

TEST_F(MyRocksMonitorTest, AnyUserMayAskAndDroppedTablesDoNotMatter) {
  server().Ask("CREATE OR REPLACE USER stranger");
  server().Ask("CREATE OR REPLACE TABLE gone(a int) ENGINE = rocksdb");
  MysqlAddress address = server().address();
  address.user = "stranger";
  address.database = "";
  const auto monitor = Watch(address);
  ASSERT_EQ(monitor->SampleOnce().message(), "");
  for (const char* name : {"memtables", "l0", "score", "debt", "memory"})
    EXPECT_NE(monitor->Sample().Find(name), nullptr) << name;
  EXPECT_GT(monitor->Sample().write_burst_bytes, 0U);
  server().Ask("DROP TABLE gone");
  EXPECT_EQ(monitor->SampleOnce().message(), "");
}

TEST_F(MyRocksMonitorTest, SaysWhyThereIsNoSample) {
  const SilentPort silent;
  MysqlAddress refused = server().address();
  refused.port = silent.port();
  MysqlAddress wrong = server().address();
  wrong.password = "SECRET";
  const MariadbProcess without({}, MariadbProcess::Plugin::kAbsent);
  struct Case {
    MysqlAddress address;
    std::string_view error;
  };
  for (const Case& c : {Case{refused, "Can't connect"}, Case{wrong, "Access denied"},
                        Case{without.address(), "this server has no MyRocks; install mariadb-plugin-rocksdb"}}) {
    const auto monitor = Watch(c.address);
    const std::string said = monitor->SampleOnce().message();
    EXPECT_TRUE(Has(said, c.error)) << said;
    EXPECT_FALSE(Has(said, "SECRET")) << said;
    EXPECT_NE(monitor->ProcessSample().Find("memory"), nullptr) << "what this process feels is known";
    EXPECT_EQ(monitor->SampleOnce().message(), said) << "it is not asked again in the same second";
  }
}

TEST_F(MyRocksMonitorTest, AServerThatDiesIsFoundAgain) {
  MariadbProcess mariadb;
  const auto monitor = Watch(mariadb.address());
  ASSERT_EQ(monitor->SampleOnce().message(), "");
  const auto sampled_at = monitor->Sample().time;
  mariadb.Kill();
  EXPECT_FALSE(monitor->SampleOnce().ok());
  EXPECT_EQ(monitor->Sample().time, sampled_at) << "the last good one stands";
  const std::string lost = monitor->LastError().message();
  mariadb.Restart();
  EXPECT_EQ(monitor->SampleOnce().message(), lost) << "it is not asked again in the same second";
  clock_.Advance(seconds(1));
  EXPECT_EQ(monitor->SampleOnce().message(), "");
  EXPECT_EQ(monitor->Sample().time, clock_.Now());
  EXPECT_EQ(monitor->Sample().escapes, 0U);
}

TEST_F(MyRocksMonitorTest, AServerThatStandsStillIsNotWaitedFor) {
  MariadbProcess mariadb;
  MyRocksMonitor monitor(mariadb.address(), kTargetBytes, {.timeout = seconds(1)}, clock_);
  const auto sampled = [&] {
    clock_.Advance(seconds(1));
    return monitor.SampleOnce().ok();
  };
  ASSERT_TRUE(Eventually(sampled));
  mariadb.Pause();
  const std::string error = "MariaDB: no answer in time from 127.0.0.1:" + std::to_string(mariadb.port());
  EXPECT_EQ(monitor.SampleOnce().message(), error);
  clock_.Advance(seconds(1));
  EXPECT_EQ(monitor.SampleOnce().message(), error) << "nor is it connected to";
  mariadb.Resume();
  EXPECT_TRUE(Eventually(sampled));
}

}  // namespace
}  // namespace weir
