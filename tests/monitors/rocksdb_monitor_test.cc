// The signals and figures of a monitor of RocksDB.
#include "monitors/rocksdb_monitor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "config/settings.h"
#include "tests/fixtures/eventually.h"
#include "tests/monitors/rocksdb_monitor_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_F(RocksDbMonitorTest, UniversalCompactionIsSensedByItsSortedRuns) {
  rocksdb::Options options = SmallEngine();
  options.compaction_style = rocksdb::kCompactionStyleUniversal;
  options.level0_file_num_compaction_trigger = 8;
  const Result<PreparedRocksDb> prepared = PrepareRocksDb(64 * kMiB, &options);
  ASSERT_TRUE(prepared.ok()) << prepared.status().message();
  test_.Open(options);
  RocksDbMonitor monitor(test_.db(), {}, prepared.value(), {}, clock_);
  test_.WriteFile();
  ASSERT_TRUE(test_.db()->CompactRange({}, nullptr, nullptr).ok());
  for (int n = 0; n < 3; ++n) test_.WriteFile();
  Sense(monitor);
  EXPECT_EQ(monitor.Details().l0_files, 4u) << "three files in L0, and what lies below";
  const double before = monitor.Sample().Find("l0")->drain_bytes_per_second;
  ASSERT_TRUE(test_.db()->CompactRange({}, nullptr, nullptr).ok());
  Sense(monitor, seconds(1));
  EXPECT_EQ(monitor.Details().l0_files, 1u);
  EXPECT_NE(monitor.Sample().Find("l0")->drain_bytes_per_second, before) << "three buffers were drained";
}

TEST_F(RocksDbMonitorTest, ItsCacheShrinksAndGrowsAgain) {
  rocksdb::Options options = SmallEngine();
  const Result<PreparedRocksDb> prepared = PrepareRocksDb(32 * kMiB, &options);
  ASSERT_TRUE(prepared.ok()) << prepared.status().message();
  test_.Open(options);
  RocksDbMonitor monitor(test_.db(), {}, prepared.value(), {}, clock_);
  const size_t full = prepared.value().block_cache->GetCapacity();
  test_.Write(2 * full);
  ASSERT_TRUE(test_.db()->Flush({}).ok());
  const auto read_all = [&] {
    const std::unique_ptr<rocksdb::Iterator> all(test_.db()->NewIterator({}));
    for (all->SeekToFirst(); all->Valid(); all->Next()) continue;
    return prepared.value().block_cache->GetUsage();
  };
  EXPECT_GT(read_all(), full * 3 / 4);

  monitor.SetCacheShare(0.5);
  Sense(monitor);
  EXPECT_LE(prepared.value().block_cache->GetUsage(), full / 2);
  EXPECT_EQ(monitor.Details().block_cache_limit_bytes, full) << "as of the sample before";
  Sense(monitor, seconds(1));
  EXPECT_EQ(monitor.Details().block_cache_limit_bytes, full / 2);
  monitor.SetCacheShare(1);
  Sense(monitor);
  EXPECT_GT(read_all(), full * 3 / 4);
}

TEST_F(RocksDbMonitorTest, AnIdleDatabaseHasNoLoad) {
  test_.Open(SmallEngine());
  RocksDbMonitor monitor(test_.db(), {}, kTarget, {}, clock_);
  const LoadSample sample = Sense(monitor);
  for (const char* name : {"memtables", "l0", "score", "debt", "own"}) {
    ASSERT_NE(sample.Find(name), nullptr) << name;
    EXPECT_EQ(sample.Find(name)->level, 0) << name;
    if (!sample.Find(name)->acts_on_writes) continue;
    EXPECT_GT(sample.Find(name)->bytes_per_level, 0) << name;
    EXPECT_GT(sample.Find(name)->dead_time, Duration::zero()) << name;
  }
  EXPECT_TRUE(sample.Find("l0")->acts_on_writes);
  EXPECT_EQ(monitor.LoadLevel(), 0);
  EXPECT_EQ(sample.escapes, 0u);
  EXPECT_EQ(sample.write_burst_bytes, 128u << 10);
  EXPECT_TRUE(sample.Find("own")->acts_on_reads);
  EXPECT_TRUE(sample.Find("own")->acts_on_cheap_reads);
  EXPECT_FALSE(sample.Find("memory")->acts_on_cheap_reads);
  EXPECT_TRUE(sample.Find("memory")->acts_on_reads);
  EXPECT_FALSE(sample.Find("l0")->acts_on_reads);
  EXPECT_GT(monitor.MemoryPressure(), 0);
  EXPECT_LT(monitor.MemoryPressure(), 1);
}

TEST_F(RocksDbMonitorTest, L0RisesByOneOverTheSpanForEachFile) {
  test_.Open(WithoutCompactions());
  RocksDbMonitor monitor(test_.db(), {}, WithGeometryOf(SmallEngine(), {"default"}), {}, clock_);
  for (int files = 1; files <= 14; ++files) {
    test_.WriteFile();
    EXPECT_NEAR(Sense(monitor).Find("l0")->level, std::max(0.0, (files - 4) / 8.0), 0.02) << files;
    EXPECT_EQ(monitor.Details().l0_files, static_cast<uint64_t>(files));
  }
}

TEST_F(RocksDbMonitorTest, DataInMemtablesCountsToo) {
  test_.Open(WithoutCompactions());
  RocksDbMonitor monitor(test_.db(), {}, WithGeometryOf(SmallEngine(), {"default"}), {}, clock_);
  for (int files = 0; files < 8; ++files) test_.WriteFile();
  const double before = Sense(monitor).Find("l0")->level;
  test_.Write(128 << 10);  // half a memtable
  const double with_memtable = Sense(monitor).Find("l0")->level;
  EXPECT_NEAR(with_memtable - before, 0.5 / 8, 0.03);
}

TEST_F(RocksDbMonitorTest, TheHighestColumnFamilyCounts) {
  test_.Open(WithoutCompactions(), {"quiet", "busy"});
  const auto prepared = WithGeometryOf(SmallEngine(), {"default", "quiet", "busy"});
  RocksDbMonitor monitor(test_.db(), test_.handles(), prepared, {}, clock_);
  for (int files = 0; files < 6; ++files) test_.WriteFile(0);
  for (int files = 0; files < 10; ++files) test_.WriteFile(2);
  EXPECT_NEAR(Sense(monitor).Find("l0")->level, 6 / 8.0, 0.02);
  const RocksDbDetails details = monitor.Details();
  EXPECT_EQ(details.l0_files, 10u);
  EXPECT_EQ(details.l0_files_at_one, 12);
  ASSERT_EQ(details.levels.size(), 1U);
  EXPECT_EQ(details.levels[0].files, 16) << "of all";
  EXPECT_GT(details.levels[0].bytes, 0);
}

TEST_F(RocksDbMonitorTest, AdaptsToForeignOptions) {
  rocksdb::Options options = SmallEngine();
  options.level0_slowdown_writes_trigger = 8;
  test_.Open(options);
  RocksDbMonitor monitor(test_.db(), {}, kTarget, {}, clock_);
  EXPECT_EQ(Sense(monitor).Find("l0")->bytes_per_level, 4.0 * (256 << 10));
}

// The scale lies between the old slowdown at 12 and the old stop at 20, in files of two buffers.
TEST_F(RocksDbMonitorTest, APreparedDatabaseHasAnOuterScale) {
  rocksdb::Options options = SmallEngine();
  const Result<PreparedRocksDb> prepared = PrepareRocksDb(64 * kMiB, &options);
  ASSERT_TRUE(prepared.ok());
  test_.Open(options);
  RocksDbMonitor monitor(test_.db(), {}, prepared.value(), {}, clock_);
  EXPECT_EQ(Sense(monitor).Find("l0")->bytes_per_level, 12.0 * 2 * (256 << 10));
  EXPECT_EQ(monitor.Details().memory_target_bytes, 64 * kMiB);
}

// Memtables that may not become files yet are judged on the scale of a database with four.
TEST_F(RocksDbMonitorTest, MemtablesRiseWhileFlushesLag) {
  rocksdb::Options options = SmallEngine();
  options.max_write_buffer_number = 12;
  options.min_write_buffer_number_to_merge = 10;
  test_.Open(options);
  rocksdb::Options scale = SmallEngine();
  RocksDbMonitor monitor(test_.db(), {}, WithGeometryOf(scale, {"default"}), {}, clock_);
  double last = -1;
  for (int i = 0; i < 5; ++i) {
    const double level = Sense(monitor).Find("memtables")->level;
    EXPECT_GE(level, last);
    last = level;
    test_.Write(200 << 10);
  }
  EXPECT_GT(last, 0.5);
  EXPECT_GE(monitor.Details().immutable_memtables, 2u);
}

TEST_F(RocksDbMonitorTest, DebtFollowsRocksDbsEstimate) {
  rocksdb::Options options = SmallEngine();
  options.soft_pending_compaction_bytes_limit = 2 * kMiB;
  options.disable_auto_compactions = true;
  test_.Open(options);
  rocksdb::Options scale = options;
  scale.disable_auto_compactions = false;
  RocksDbMonitor monitor(test_.db(), {}, WithGeometryOf(scale, {"default"}), {}, clock_);
  EXPECT_EQ(Sense(monitor).Find("debt")->level, 0);
  for (int i = 0; i < 12; ++i) {
    test_.Write(100 << 10);
    ASSERT_TRUE(test_.db()->Flush({}).ok());
  }
  const LoadSample sample = Sense(monitor, seconds(60));  // the filter has settled
  const auto debt = static_cast<double>(monitor.Details().debt_bytes);
  ASSERT_GT(debt, 256e3);
  EXPECT_NEAR(sample.Find("debt")->level, std::log2(debt / (256 << 10)) / 3, 0.01);
}

TEST_F(RocksDbMonitorTest, OwnBytesAreAgainstTheirBudget) {
  test_.Open(SmallEngine());
  RocksDbMonitorSettings settings;
  settings.own_budget_mb = 10;
  RocksDbMonitor monitor(test_.db(), {}, kTarget, settings, clock_);
  monitor.AddOwnBytes(static_cast<int64_t>(6 * kMiB));
  monitor.AddOwnBytes(-static_cast<int64_t>(1 * kMiB));
  EXPECT_NEAR(Sense(monitor).Find("own")->level, 0.5, 1e-9);
  EXPECT_EQ(monitor.LoadLevel(), 0.5);
  monitor.AddOwnBytes(-static_cast<int64_t>(50 * kMiB));
  EXPECT_EQ(Sense(monitor).Find("own")->level, 0);
}

TEST_F(RocksDbMonitorTest, OnlyOwnAndMemoryTellWaitingBytesApart) {
  test_.Open(SmallEngine());
  RocksDbMonitorSettings settings;
  settings.own_budget_mb = 10;
  RocksDbMonitor monitor(test_.db(), {}, kTarget, settings, clock_);
  monitor.AddOwnBytes(static_cast<int64_t>(1 * kMiB));
  monitor.AddOwnBytes(static_cast<int64_t>(50 * kMiB), OwnUse::kWaiting);
  const LoadSample sample = Sense(monitor);
  for (const Signal& signal : sample.signals()) {
    const double waiting = signal.name == "own" ? 5 : signal.name == "memory" ? 50.0 * kMiB / kTarget : 0;
    EXPECT_DOUBLE_EQ(signal.waiting, waiting) << signal.name;
  }
  EXPECT_NEAR(sample.Find("own")->level, 5.1, 1e-9) << "it is held all the same";
  EXPECT_NEAR(sample.Find("own")->judged(), 0.1, 1e-9);
  EXPECT_EQ(monitor.Details().own_bytes, 51 * kMiB);
  EXPECT_NEAR(monitor.LoadLevel(), 0.1, 1e-9);
}

TEST_F(RocksDbMonitorTest, OwnBudgetIsAnEighthOfTheTargetWhenNotSet) {
  test_.Open(SmallEngine());
  RocksDbMonitor monitor(test_.db(), {}, 80 * kMiB, {}, clock_);
  EXPECT_EQ(Sense(monitor).Find("own")->bytes_per_level, static_cast<double>(10 * kMiB));
}

TEST_F(RocksDbMonitorTest, StallsAreCountedByTheListener) {
  rocksdb::Options options = SmallEngine();
  const Result<PreparedRocksDb> prepared = PrepareRocksDb(64 * kMiB, &options);
  ASSERT_TRUE(prepared.ok());
  test_.Open(options);
  RocksDbMonitor monitor(test_.db(), {}, prepared.value(), {}, clock_);
  EXPECT_EQ(Sense(monitor).escapes, 0u);
  WriteUntilRocksDbBrakes();
  EXPECT_EQ(Sense(monitor).escapes, 1u);
  EXPECT_GT(monitor.Details().delayed_bytes_per_second, 0);
  EXPECT_GE(Sense(monitor).Find("memtables")->level, 1);  // it was at 1.0 before the brakes were moved
  ASSERT_TRUE(test_.db()->ContinueBackgroundWork().ok());
}

TEST_F(RocksDbMonitorTest, StallsOfAForeignDatabaseAreCountedFromItsCounters) {
  test_.Open(SmallEngine());
  RocksDbMonitor monitor(test_.db(), {}, kTarget, {}, clock_);
  EXPECT_EQ(Sense(monitor).escapes, 0u);
  WriteUntilRocksDbBrakes();
  EXPECT_EQ(Sense(monitor).escapes, 1u);  // now counted
  EXPECT_GE(Sense(monitor, seconds(1)).escapes, 1u);
  EXPECT_NEAR(Sense(monitor).Find("memtables")->level, 1, 0.1);
  EXPECT_GE(monitor.Details().stall_causes.at("memtable_slowdown"), 1u);
  ASSERT_TRUE(test_.db()->ContinueBackgroundWork().ok());
}

TEST_F(RocksDbMonitorTest, ResetStatisticsMoveNeitherEscapesNorTheRatio) {
  test_.Open(SmallEngine());
  WriteUntilRocksDbBrakes();
  RocksDbMonitor monitor(test_.db(), {}, kTarget, {}, clock_);
  EXPECT_EQ(Sense(monitor).escapes, 1u) << "it brakes";
  EXPECT_GE(monitor.Details().slowdowns, 1u);
  EXPECT_TRUE(test_.db()->ResetStats().ok());
  EXPECT_EQ(Sense(monitor, seconds(1)).escapes, 1u);
  EXPECT_EQ(monitor.Details().slowdowns, 0u);
  EXPECT_EQ(monitor.Details().disk_per_user_byte, 1) << "nothing was flushed";
  ASSERT_TRUE(test_.db()->ContinueBackgroundWork().ok());
}

// While the database rests, the monitor reads only figures that show whether it still does.
TEST_F(RocksDbMonitorTest, NoticesEachChangeAfterARest) {
  test_.Open(SmallEngine());
  RocksDbMonitor monitor(test_.db(), {}, kTarget, {}, clock_);
  const auto rest = [&] {
    for (int n = 0; n < 25; ++n) Sense(monitor);
  };
  rest();
  EXPECT_EQ(monitor.Details().l0_files, 0U);
  ASSERT_TRUE(test_.db()->PauseBackgroundWork().ok());
  test_.Write(300 << 10);
  Sense(monitor);
  EXPECT_EQ(monitor.Details().immutable_memtables, 1U);
  ASSERT_TRUE(test_.db()->ContinueBackgroundWork().ok());
  ASSERT_TRUE(test_.db()->Flush({}).ok());
  Sense(monitor);
  EXPECT_EQ(monitor.Details().immutable_memtables, 0U);
  const uint64_t flushed = monitor.Details().l0_files;
  EXPECT_GE(flushed, 1U);
  rest();
  EXPECT_EQ(monitor.Details().levels.front().files, flushed) << "the counters were read after the flush";
  ASSERT_TRUE(test_.db()->CompactRange({}, nullptr, nullptr).ok());
  Sense(monitor);
  EXPECT_EQ(monitor.Details().l0_files, 0U);
  rest();
  EXPECT_EQ(monitor.Details().levels.front().files, 0);
}

TEST_F(RocksDbMonitorTest, NoticesOptionsThatChangeAfterARest) {
  test_.Open(SmallEngine());
  RocksDbMonitor monitor(test_.db(), {}, kTarget, {}, clock_);
  test_.WriteFile();
  for (int n = 0; n < 25; ++n) Sense(monitor);
  const double at_one = monitor.Details().l0_files_at_one;
  ASSERT_TRUE(test_.db()->SetOptions({{"level0_slowdown_writes_trigger", "18"}}).ok());
  for (int n = 0; n < 12; ++n) Sense(monitor);
  EXPECT_GT(monitor.Details().l0_files_at_one, at_one);
}

TEST_F(RocksDbMonitorTest, ReportsTheEnginesPartsOfMemory) {
  rocksdb::Options options = SmallEngine();
  const Result<PreparedRocksDb> prepared = PrepareRocksDb(64 * kMiB, &options);
  ASSERT_TRUE(prepared.ok());
  test_.Open(options);
  test_.WriteFile();
  test_.Write(100 << 10);
  std::string value;
  (void)test_.db()->Get({}, "1", &value);
  RocksDbMonitor monitor(test_.db(), {}, prepared.value(), {}, clock_);
  Sense(monitor);
  const RocksDbDetails details = monitor.Details();
  EXPECT_GT(details.block_cache_bytes, 0u);
  EXPECT_GT(details.memtable_bytes, 100u << 10);
  EXPECT_GT(details.memory.bytes(), 0u);
}

TEST_F(RocksDbMonitorTest, ForceFlushFlushesAllColumnFamilies) {
  test_.Open(WithoutCompactions(), {"more"});
  RocksDbMonitor monitor(test_.db(), test_.handles(), kTarget, {}, clock_);
  test_.Write(10'000, 0);
  test_.Write(10'000, 1);
  monitor.ForceFlush();
  Sense(monitor);
  test_.AwaitFileInL0(0);
  test_.AwaitFileInL0(1);
}

TEST_F(RocksDbMonitorTest, ADetachedMonitorLeavesTheDatabaseAlone) {
  test_.Open(SmallEngine());
  RocksDbMonitor monitor(test_.db(), {}, kTarget, {}, clock_);
  const auto good = Sense(monitor).time;
  monitor.Detach();
  monitor.Detach();
  test_.Close();
  EXPECT_EQ(monitor.SampleOnce().message(), "database closed");
  EXPECT_EQ(monitor.LastError().message(), "database closed");
  EXPECT_EQ(monitor.Sample().time, good);
  monitor.ForceFlush();
  EXPECT_FALSE(monitor.SampleOnce().ok());
}

// Memory may be short when the database closes, and a database that was not prepared has no cache that the monitor
// knows.
TEST_F(RocksDbMonitorTest, DetachesFromADatabaseWithoutACacheWhileMemoryIsShort) {
  test_.Open(SmallEngine());
  RocksDbMonitor monitor(test_.db(), {}, kTarget, {}, clock_);
  monitor.SetCacheShare(0.5);
  Sense(monitor);
  monitor.Detach();
  EXPECT_EQ(monitor.SampleOnce().message(), "database closed");
}

TEST_F(RocksDbMonitorTest, ADatabaseMayBeClosedWhileItIsSampled) {
  for (int round = 0; round < 5; ++round) {
    TestDb test;
    test.Open(SmallEngine(), {"more"});
    RocksDbMonitorSettings settings;
    settings.monitor.sample_interval = milliseconds(10);
    RocksDbMonitor monitor(test.db(), test.handles(), kTarget, settings);
    monitor.Start();
    test.Write(300 << 10);
    monitor.Detach();
    test.Close();
    ASSERT_TRUE(Eventually([&] { return !monitor.LastError().ok(); }));
    EXPECT_EQ(monitor.LastError().message(), "database closed");
  }
}

TEST_F(RocksDbMonitorTest, SamplesWhileOthersWriteAndAsk) {
  test_.Open(SmallEngine());
  RocksDbMonitorSettings settings;
  settings.monitor.sample_interval = milliseconds(10);
  RocksDbMonitor monitor(test_.db(), {}, kTarget, settings);
  monitor.Start();
  std::atomic<bool> done{false};
  std::thread reader([&] {
    while (!done.load()) {
      (void)monitor.Details();
      (void)monitor.ShouldThrottleWrites();
      monitor.AddOwnBytes(1);
    }
  });
  test_.Write(4 * kMiB);
  done.store(true);
  reader.join();
  monitor.Stop();
  EXPECT_TRUE(monitor.LastError().ok()) << monitor.LastError().message();
}

TEST_F(RocksDbMonitorTest, AdvisesToSlowWritesByFilesInL0) {
  test_.Open(WithoutCompactions());
  RocksDbMonitor monitor(test_.db(), {}, WithGeometryOf(SmallEngine(), {"default"}), {}, clock_);
  for (int files = 0; files < 6; ++files) test_.WriteFile();
  Sense(monitor);
  EXPECT_FALSE(monitor.ShouldThrottleWrites());
  test_.WriteFile();
  Sense(monitor);
  EXPECT_TRUE(monitor.ShouldThrottleWrites());
  EXPECT_FALSE(monitor.ShouldThrottleReads());
}

TEST_F(RocksDbMonitorTest, AdvisesToSlowReadsAtAScoreAThirdAboveThatForWrites) {
  test_.Open(WithoutCompactions());
  test_.Write(3 * kMiB);
  ASSERT_TRUE(test_.db()->CompactRange({}, nullptr, nullptr).ok());  // L1 may have 2 MiB
  double score = 0;
  {
    RocksDbMonitor monitor(test_.db(), {}, kTarget, {}, clock_);
    Sense(monitor);
    score = monitor.Details().score;
  }
  ASSERT_GT(score, 1);
  for (const auto& [level, reads] : {std::pair(1.2, false), std::pair(1.5, true)}) {
    RocksDbMonitor monitor(test_.db(), {}, kTarget, {.score_threshold = score / level}, clock_);
    const LoadSample sample = Sense(monitor);
    ASSERT_NEAR(sample.Find("score")->level, level, 1e-6);
    EXPECT_TRUE(monitor.ShouldThrottleWrites());
    EXPECT_EQ(monitor.ShouldThrottleReads(), reads);
  }
}

TEST(RocksDbMonitorSettings, KeepTheNamesThatOperatorsKnow) {
  SettingTable table;
  RocksDbMonitorSettings settings;
  Declare(table, settings);
  ASSERT_TRUE(table
                  .Load({{"WEIR_RATE_LIMIT_ROCKSDB_L0_THRESHOLD", "9"},
                         {"ORLY_RATE_LIMIT_ROCKSDB_SCORE_THRESHOLD", "2.5"},
                         {"WEIR_RATE_LIMIT_OWN_BUDGET_MB", "50"}})
                  .ok());
  EXPECT_EQ(settings.l0_threshold, 9u);
  EXPECT_EQ(settings.score_threshold, 2.5);
  EXPECT_EQ(settings.own_budget_mb, 50u);
}

}  // namespace
}  // namespace weir
