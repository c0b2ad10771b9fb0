#include "monitors/rocksdb_counters.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr double kGiB = 1 << 30;

// Lines of a real answer of RocksDB 7.8.3.
const std::map<std::string, std::string> kStats{
    {"compaction.L0.NumFiles", "1.000000"},
    {"compaction.L0.Score", "7.250000"},
    {"compaction.L0.SizeBytes", "3974470.000000"},
    {"compaction.L0.WnewGB", "0.099212"},
    {"compaction.L0.WriteGB", "0.100000"},
    {"compaction.L1.MovedGB", "0.010000"},
    {"compaction.L1.RnGB", "0.095510"},
    {"compaction.L1.Score", "0.969743"},
    {"compaction.L1.SizeBytes", "32540000.000000"},
    {"compaction.L1.WriteGB", "0.181760"},
    {"compaction.L2.RnGB", "0.500000"},
    {"compaction.L2.Score", "1.201544"},
    {"compaction.Sum.WriteGB", "0.281760"},
    {"io_stalls.memtable_compaction", "10"},
    {"io_stalls.memtable_slowdown", "15"},
    {"io_stalls.level0_slowdown", "0"},
    {"io_stalls.total_slowdown", "15"},
    {"io_stalls.total_stop", "10"},
};

TEST(RocksDbCounters, AreTakenFromTheBaseLevel) {
  EXPECT_NEAR(ParseCounters(kStats, 1).drained_from_l0_bytes, 0.10551 * kGiB, 1);
  EXPECT_NEAR(ParseCounters(kStats, 2).drained_from_l0_bytes, 0.5 * kGiB, 1);
  EXPECT_EQ(ParseCounters(kStats, 6).drained_from_l0_bytes, 0);
  EXPECT_EQ(ParseCounters(kStats, 1).base_level_bytes, 32540000);
}

TEST(RocksDbCounters, ScoreLeavesL0Out) { EXPECT_EQ(ParseCounters(kStats, 1).highest_score, 1.201544); }

TEST(RocksDbCounters, TellFlushesFromCompactions) {
  const RocksDbCounters counters = ParseCounters(kStats, 1);
  EXPECT_NEAR(counters.flushed_bytes, 0.099212 * kGiB, 1);
  EXPECT_NEAR(counters.compaction_written_bytes, 0.18176 * kGiB, 1);
  EXPECT_EQ(counters.l0_files, 1);
  EXPECT_EQ(counters.l0_bytes, 3974470);
}

TEST(RocksDbCounters, TellTheSpeedOfFlushes) {
  EXPECT_EQ(ParseCounters(kStats, 1).flush_bytes_per_second, 0) << "none has ended";
  std::map<std::string, std::string> stats = kStats;
  stats["compaction.L0.CompSec"] = "4.0";
  EXPECT_NEAR(ParseCounters(stats, 1).flush_bytes_per_second, 0.025 * kGiB, 1);
}

TEST(RocksDbCounters, BlobFilesCountAsFlushesAndCompactions) {
  std::map<std::string, std::string> stats = kStats;
  stats["compaction.L0.WblobGB"] = "0.2";
  stats["compaction.Sum.WblobGB"] = "0.5";
  const RocksDbCounters counters = ParseCounters(stats, 1);
  EXPECT_NEAR(counters.flushed_table_bytes, 0.099212 * kGiB, 1);
  EXPECT_NEAR(counters.flushed_bytes, 0.299212 * kGiB, 1);
  EXPECT_NEAR(counters.compaction_written_bytes, 0.48176 * kGiB, 1);
}

TEST(RocksDbCounters, TellEachLevelUpToTheLastThatHasFiles) {
  const RocksDbCounters counters = ParseCounters(kStats, 1);
  ASSERT_EQ(counters.levels.size(), 3U);
  EXPECT_EQ(counters.levels[0].files, 1);
  EXPECT_EQ(counters.levels[0].bytes, 3974470);
  EXPECT_EQ(counters.levels[0].score, 7.25);
  EXPECT_EQ(counters.levels[1].bytes, 32540000);
  const RocksDbCounters deep = ParseCounters({{"compaction.L4.Score", "0.5"}, {"compaction.L4.NumFiles", "3"}}, 4);
  ASSERT_EQ(deep.levels.size(), 5U) << "with those between that have none";
  EXPECT_EQ(deep.levels[0].files + deep.levels[3].files, 0);
  EXPECT_EQ(deep.levels[4].files, 3);
}

TEST(RocksDbCounters, KeepTheCausesOfStalls) {
  const RocksDbCounters counters = ParseCounters(kStats, 1);
  EXPECT_EQ(counters.slowdowns, 15u);
  EXPECT_EQ(counters.stops, 10u);
  EXPECT_EQ(counters.stall_causes,
            (std::map<std::string, uint64_t>{
                {"level0_slowdown", 0}, {"memtable_compaction", 10}, {"memtable_slowdown", 15}}));
}

TEST(RocksDbCounters, AreZeroForAnEmptyAnswer) {
  const RocksDbCounters counters = ParseCounters({}, 1);
  EXPECT_EQ(counters.drained_from_l0_bytes, 0);
  EXPECT_EQ(counters.highest_score, 0);
}

TEST(DiskRatio, StartsAtOneAndApproachesTheFlushedRatio) {
  DiskRatio ratio(4e6);
  EXPECT_EQ(ratio.value(), 1);
  for (int i = 0; i < 100; ++i) ratio.Update(4e6, 1e6);
  EXPECT_NEAR(ratio.value(), 0.25, 0.01);
}

TEST(DiskRatio, StaysSaneForAnyOrder) {
  DiskRatio ratio(4e6);
  ratio.Update(-100e6, 0);
  EXPECT_LE(ratio.value(), 2);
  ratio.Update(0, 1e12);
  EXPECT_LE(ratio.value(), 2);
  ratio.Update(1e15, 0);
  EXPECT_GT(ratio.value(), 0);
}

TEST(RocksDbCounters, KnowTheNamesThatRocksDb81GaveTheCausesOfStalls) {
  const RocksDbCounters counters = ParseCounters({{"total-delays", "9"},
                                                  {"total-stops", "4"},
                                                  {"memtable-limit-delays", "7"},
                                                  {"memtable-limit-stops", "3"},
                                                  {"l0-file-count-limit-delays", "2"},
                                                  {"l0-file-count-limit-stops", "1"},
                                                  {"pending-compaction-bytes-delays", "0"}},
                                                 1);
  EXPECT_EQ(counters.slowdowns, 9u);
  EXPECT_EQ(counters.stops, 4u);
  EXPECT_EQ(counters.stall_causes, (std::map<std::string, uint64_t>{{"memtable_slowdown", 7},
                                                                    {"memtable_compaction", 3},
                                                                    {"level0_slowdown", 2},
                                                                    {"level0_numfiles", 1},
                                                                    {"slowdown_for_pending_compaction_bytes", 0}}));
}

}  // namespace
}  // namespace weir
