#include "monitors/rocksdb_text/stats_text.h"

#include <gtest/gtest.h>

#include "monitors/rocksdb_counters.h"
#include "tests/monitors/rocksdb_fixture.h"

namespace weir {
namespace {

constexpr double kGiB = 1 << 30;

// The form of the versions before 6.19, which have no columns for blob files.
constexpr std::string_view kSix = R"(
** Compaction Stats [default] **
Level    Files   Size     Score Read(GB)  Rn(GB) Rnp1(GB) Write(GB) Wnew(GB) Moved(GB) W-Amp Rd(MB/s) Wr(MB/s) Comp(sec) CompMergeCPU(sec) Comp(cnt) Avg(sec) KeyIn KeyDrop
----------------------------------------------------------------------------------------------------------------------------------------------------------------------------
  L0      6/2   12.50 MB   1.5      0.0     0.0      0.0       1.3      1.3       0.0   1.0      0.0     45.9     27.97             20.92       206    0.136       0      0
  L1     11/0   38.75 MB   0.9      5.9     1.2      4.7       5.8      1.1       0.0   4.8     88.7     86.9     67.60             53.10        49    1.380    105M  1711K
 Sum     17/2   51.25 MB   0.0      5.9     1.2      4.7       7.1      2.4       0.0   5.6     62.7     75.0     95.57             74.02       255    0.375    105M  1711K
 Int      0/0    0.00 KB   0.0      0.0     0.0      0.0       0.0      0.0       0.0   1.0      0.0     45.0      0.09              0.06         1    0.089       0      0

** Compaction Stats [default] **
Priority    Files   Size     Score Read(GB)  Rn(GB) Rnp1(GB) Write(GB) Wnew(GB) Moved(GB) W-Amp Rd(MB/s) Wr(MB/s) Comp(sec) CompMergeCPU(sec) Comp(cnt) Avg(sec) KeyIn KeyDrop
-------------------------------------------------------------------------------------------------------------------------------------------------------------------------------
 Low      0/0    0.00 KB   0.0      5.9     1.2      4.7       5.8      1.1       0.0   0.0     88.7     86.9     67.60             53.10        49    1.380    105M  1711K
Uptime(secs): 350.5 total, 10.0 interval
Flush(GB): cumulative 1.254, interval 0.004
AddFile(GB): cumulative 0.125, interval 0.000
AddFile(Total Files): cumulative 2, interval 0
Cumulative compaction: 7.00 GB write, 20.71 MB/s write, 5.86 GB read, 17.34 MB/s read, 95.6 seconds
Interval compaction: 0.00 GB write, 0.40 MB/s write, 0.00 GB read, 0.00 MB/s read, 0.1 seconds
Stalls(count): 12 level0_slowdown, 9 level0_slowdown_with_compaction, 3 level0_numfiles, 2 level0_numfiles_with_compaction, 1 stop for pending_compaction_bytes, 5 slowdown for pending_compaction_bytes, 7 memtable_compaction, 4 memtable_slowdown, interval 0 total count
)";

TEST(CountersText, AreReadInTheFormOfOldVersions) {
  const RocksDbCounters counters = ParseCountersText(kSix, 1);
  ASSERT_EQ(counters.levels.size(), 2U);
  EXPECT_EQ(counters.l0_files, 6);
  EXPECT_EQ(counters.l0_bytes, 12.5 * 1048576);
  EXPECT_EQ(counters.base_level_bytes, 38.75 * 1048576);
  EXPECT_EQ(counters.highest_score, 0.9) << "the score of L0 is left out";
  EXPECT_NEAR(counters.flushed_bytes, 1.254 * kGiB, 1);
  EXPECT_NEAR(counters.drained_from_l0_bytes, 1.379 * kGiB - 12.5 * 1048576, 1);
  EXPECT_NEAR(counters.compaction_written_bytes, 5.746 * kGiB, 0.1 * kGiB) << "20.71 MB/s for 350.5 s";
  EXPECT_NEAR(counters.flush_bytes_per_second, 1.254 * kGiB / 27.97, 1);
  EXPECT_EQ(counters.slowdowns, 21U) << "12 + 5 + 4";
  EXPECT_EQ(counters.stops, 11U) << "3 + 1 + 7";
  EXPECT_EQ(counters.stall_causes.at("stop_for_pending_compaction_bytes"), 1U);
}

TEST(CountersText, AreReadInTheFormOfNewVersions) {
  const RocksDbCounters counters = ParseCountersText(R"(
** Compaction Stats [tags] **
Level    Files   Size     Score Read(GB)  Rn(GB) Rnp1(GB) Write(GB) WPreComp(GB) Wnew(GB) Moved(GB) W-Amp Rd(MB/s) Wr(MB/s) Comp(sec) CompMergeCPU(sec) Comp(cnt) Avg(sec) KeyIn KeyDrop Rblob(GB) Wblob(GB)
---------------------------------------------------------------------------
  L0      1/0     1.50 GB   0.2      0.0     0.0      0.0       2.0       2.5      2.0       0.0   1.0      0.0     45.9     10.00             20.92       206    0.136       0      0       0.0       0.5
  L6      9/0     3.00 TB   0.4      0.0     0.0      0.0       0.0       0.0      0.0       0.0   1.0      0.0     45.9      0.00              0.00         0    0.000       0      0       0.0       0.0

Flush(GB): cumulative 2.000, interval 0.004
Cumulative compaction: 2.00 GB write, 20.71 MB/s write, 5.86 GB read, 17.34 MB/s read, 95.6 seconds
Estimated pending compaction bytes: 4711
Write Stall (count): cf-l0-file-count-limit-delays-with-ongoing-compaction: 3, cf-l0-file-count-limit-stops-with-ongoing-compaction: 1, l0-file-count-limit-delays: 5, l0-file-count-limit-stops: 2, memtable-limit-delays: 0, memtable-limit-stops: 1, pending-compaction-bytes-delays: 0, pending-compaction-bytes-stops: 0, total-delays: 5, total-stops: 3, interval: 0 total count
)",
                                                     6);
  EXPECT_EQ(counters.l0_bytes, 1.5 * kGiB);
  EXPECT_EQ(counters.base_level_bytes, 3 * 1024 * kGiB);
  EXPECT_NEAR(counters.flushed_table_bytes, 1.5 * kGiB, 1) << "the blob files are left out";
  EXPECT_NEAR(counters.drained_from_l0_bytes, 0, 1) << "also from what left L0";
  EXPECT_EQ(counters.slowdowns, 5U);
  EXPECT_EQ(counters.stops, 3U);
  EXPECT_EQ(counters.stall_causes.at("level0_slowdown_with_compaction"), 3U);
}

TEST(CountersText, AreThoseOfTheMapExceptForRounding) {
  TestDb db;
  rocksdb::Options options = SmallEngine();
  options.max_background_jobs = 2;
  db.Open(options);
  for (int i = 0; i < 20000; ++i)
    ASSERT_TRUE(
        db.db()->Put({}, std::to_string(i * 7919 % 20000), std::string(1000, static_cast<char>('a' + i % 26))).ok());
  ASSERT_TRUE(db.db()->Flush({}).ok());
  ASSERT_TRUE(Eventually([&] {
    std::string running, pending;
    db.db()->GetProperty("rocksdb.num-running-compactions", &running);
    db.db()->GetProperty("rocksdb.compaction-pending", &pending);
    return running == "0" && pending == "0";
  }));
  std::string text;
  ASSERT_TRUE(db.db()->GetProperty("rocksdb.cfstats", &text));
  const RocksDbCounters read = ParseCountersText(text, 1);
  const auto exact = ReadCounters(db.db(), db.db()->DefaultColumnFamily());
  ASSERT_TRUE(exact.ok());
  const RocksDbCounters& map = exact.value();
  EXPECT_GT(map.drained_from_l0_bytes, 10e6) << "the test shows something";
  EXPECT_NEAR(read.flushed_bytes, map.flushed_bytes, 1e-3 * kGiB);
  EXPECT_NEAR(read.drained_from_l0_bytes, map.drained_from_l0_bytes, 2e-3 * kGiB);
  EXPECT_NEAR(read.compaction_written_bytes, map.compaction_written_bytes, 7e-3 * kGiB);
  EXPECT_NEAR(read.base_level_bytes, map.base_level_bytes, 0.01 * map.base_level_bytes + 6000);
  EXPECT_EQ(read.l0_files, map.l0_files);
  EXPECT_EQ(read.levels.size(), map.levels.size());
  EXPECT_EQ(read.slowdowns, map.slowdowns);
  EXPECT_EQ(read.stops, map.stops);
  EXPECT_EQ(read.stall_causes, map.stall_causes);
  const Result<double> user_bytes = ReadUserBytes(db.db());
  ASSERT_TRUE(db.db()->GetProperty("rocksdb.dbstats", &text));
  EXPECT_NEAR(ParseDbStatsText(text).user_bytes, user_bytes.value(), 0.006 * kGiB);
}

TEST(DbStatsText, TellsHowLongWritesStalled) {
  const DbStatsText stats = ParseDbStatsText(R"(
** DB Stats **
Uptime(secs): 56550.1 total, 600.0 interval
Cumulative writes: 1000K writes, 1000K keys, 900K commit groups, 1.1 writes per commit group, ingest: 912.35 GB, 16.52 MB/s
Cumulative WAL: 1000K writes, 0 syncs, 1000.00 writes per sync, written: 0.12 GB, 3.9 MB/s
Cumulative stall: 05:34:2.500 H:M:S, 35.4 percent
Interval stall: 00:01:0.000 H:M:S, 10.0 percent
)");
  EXPECT_EQ(stats.uptime_seconds, 56550.1);
  EXPECT_NEAR(stats.user_bytes, 912.35 * kGiB, 1);
  EXPECT_EQ(stats.stalled_seconds, 5 * 3600 + 34 * 60 + 2.5);
}

// A LOG may end anywhere.
TEST(StatsText, MayBeCutAnywhere) {
  const RocksDbCounters whole = ParseCountersText(kSix, 1);
  for (size_t end = 0; end < kSix.size(); ++end) {
    const RocksDbCounters cut = ParseCountersText(kSix.substr(0, end), 1);
    EXPECT_LE(cut.levels.size(), 2U) << end;
    EXPECT_LE(cut.slowdowns, whole.slowdowns) << end;
    ParseDbStatsText(kSix.substr(end));
  }
}

}  // namespace
}  // namespace weir
