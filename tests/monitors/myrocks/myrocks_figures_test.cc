#include "monitors/myrocks/myrocks_figures.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "monitors/rocksdb_counters.h"
#include "monitors/rocksdb_version.h"
#include "rocksdb/db.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

constexpr double kMiB = 1 << 20;
using Rows = std::vector<MysqlSession::Row>;

TEST(MyRocksFigures, AreReadFromTheRows) {
  const Rows rows = {{"notes", "compaction.L0.NumFiles", "3"},
                     {"notes", "compaction.L0.SizeBytes", "3145728"},
                     {"notes", "compaction.L0.Score", "0.75"},
                     {"notes", "compaction.L0.WnewGB", "0.5"},
                     {"notes", "compaction.L2.SizeBytes", "1024"},
                     {"notes", "compaction.L2.Score", "2"},
                     {"notes", "compaction.L2.MovedGB", "0.25"},
                     {"notes", "compaction.L2.WnewGB", "-0.003935"},
                     {"notes", "compaction.Sum.CompactedFiles", "2"},
                     {"notes", "NUM_IMMUTABLE_MEM_TABLE", "2"},
                     {"notes", "MEM_TABLE_FLUSH_PENDING", "0"},
                     {"notes", "COMPACTION_PENDING", "0"},
                     {"notes", "CUR_SIZE_ACTIVE_MEM_TABLE", "1000"},
                     {"notes", "write_buffer_size", "4194304"},
                     {"notes", "num_levels", "5"},
                     {"notes", "max_bytes_for_level_multiplier", "8.000000"},
                     {"notes", "level_compaction_dynamic_level_bytes", "ON"},
                     {"notes", "level0_slowdown_writes_trigger", "12"},
                     {"notes", "disable_auto_compactions", "OFF"},
                     {"notes", "compaction_style", "kCompactionStyleLevel"},
                     {"empty", "write_buffer_size", "65536"},
                     {"", "ROCKSDB_BYTES_WRITTEN", "5000"},
                     {"", "ROCKSDB_FLUSH_WRITE_BYTES", "100"},
                     {"", "ROCKSDB_COMPACT_WRITE_BYTES", "200"},
                     {"", "ROCKSDB_STALL_TOTAL_SLOWDOWNS", "4"},
                     {"", "ROCKSDB_STALL_TOTAL_STOPS", "1"},
                     {"", "IO_LIMIT", "33554432"},
                     {"", "DEFAULT_OPTIONS",
                      "a=1;soft_pending_compaction_bytes_limit=512m;"
                      "hard_pending_compaction_bytes_limit=2G;b=c"}};
  const Result<MyRocksFigures> read = ReadMyRocksFigures(rows);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read.value().user_bytes, 5000);
  EXPECT_EQ(read.value().background_bytes, 300);
  EXPECT_EQ(read.value().brakes, 5U);
  EXPECT_EQ(read.value().io_limit_bytes_per_second, 32 * kMiB);
  ASSERT_EQ(read.value().families.size(), 2U);
  const MyRocksFamily& family = read.value().families.at("notes");
  EXPECT_EQ(family.counters.l0_files, 3);
  EXPECT_EQ(family.counters.base_level, 2) << "the first level that has any data";
  EXPECT_EQ(family.counters.drained_from_l0_bytes, 256 * kMiB);
  EXPECT_EQ(family.counters.flushed_bytes, 512 * kMiB);
  EXPECT_EQ(family.counters.highest_score, 2);
  EXPECT_EQ(family.immutable_memtables, 2U);
  EXPECT_EQ(family.filling_bytes, 1000U);
  EXPECT_TRUE(family.flushing);
  EXPECT_TRUE(family.compacting);
  EXPECT_EQ(family.num_levels, 5);
  EXPECT_EQ(family.level_multiplier, 8);
  EXPECT_EQ(family.options, (LsmOptions{.write_buffer_size = 4 << 20,
                                        .level0_slowdown_writes_trigger = 12,
                                        .soft_pending_compaction_bytes_limit = 512 << 20,
                                        .hard_pending_compaction_bytes_limit = 2ull << 30,
                                        .level_compaction_dynamic_level_bytes = true}));
  EXPECT_EQ(read.value().families.at("empty").counters.base_level, 1);
}

TEST(MyRocksFigures, AreNotReadFromAnotherAnswer) {
  EXPECT_FALSE(ReadMyRocksFigures({}).ok());
  EXPECT_FALSE(ReadMyRocksFigures({{"", "IO_LIMIT", "0"}}).ok()) << "no column family";
  EXPECT_FALSE(ReadMyRocksFigures({{"notes", "num_levels"}}).ok());
  EXPECT_FALSE(ReadMyRocksFigures({{"notes", std::nullopt, "7"}}).ok());
  for (const char* value : {"", "-1", "x", "inf", "nan", "1e300", "99999999999999999999999"}) {
    EXPECT_FALSE(ReadMyRocksFigures({{"notes", "compaction.L0.NumFiles", value}}).ok()) << value;
    EXPECT_TRUE(ReadMyRocksFigures({{"notes", "NUM_IMMUTABLE_MEM_TABLE", value},
                                    {"notes", "write_buffer_size", value},
                                    {"notes", "num_levels", value},
                                    {"", "ROCKSDB_BYTES_WRITTEN", value}})
                    .ok())
        << value;
  }
}

TEST(MyRocksFigures, TheDebtIsThatOfEachLevelBeyondItsSize) {
  MyRocksFamily family{.options = {.max_bytes_for_level_base = 32 << 20}};
  RocksDbCounters& c = family.counters;
  EXPECT_EQ(EstimateDebt(family), 0U);
  c.levels = {{4, 40 * kMiB, 1}, {8, 64 * kMiB, 2}, {40, 320 * kMiB, 1}, {100, 1000 * kMiB, 0.3}};
  c.l0_files = 4;
  c.l0_bytes = 40 * kMiB;
  c.base_level_bytes = 64 * kMiB;
  const double first = 72 * (320.0 / 104 + 1);
  const double second = 72 * (1000.0 / 392 + 1);
  EXPECT_NEAR(static_cast<double>(EstimateDebt(family)) / kMiB, 40 + 64 + first + second, 1);
  c.l0_files = 3;
  c.l0_bytes = 30 * kMiB;
  EXPECT_NEAR(static_cast<double>(EstimateDebt(family)) / kMiB, 32 * (320.0 / 64 + 1) + 32 * (1000.0 / 352 + 1), 1);
  family.options.compaction_style = CompactionStyle::kUniversal;
  EXPECT_EQ(EstimateDebt(family), 0U);
}

// The estimate of a real RocksDB, whose counters come from the same property as those of MyRocks.
TEST(MyRocksFigures, TheDebtIsAboutWhatRocksDbEstimates) {
  const TempDirectory directory;
  rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.level_compaction_dynamic_level_bytes = false;
  options.max_bytes_for_level_base = 1 << 20;
  options.disable_auto_compactions = true;
  OpenedRocksDb opened{};
  ASSERT_TRUE(rocksdb::DB::Open(options, directory / "db", &opened).ok());
  const std::unique_ptr<rocksdb::DB> db = OwnerOf(&opened);
  const auto fill = [&](int files) {
    for (int file = 0; file < files; ++file) {
      for (int key = 0; key < 500; ++key)
        ASSERT_TRUE(db->Put({}, std::to_string(key * 7919 % 100'000), std::string(1000, 'x')).ok());
      ASSERT_TRUE(db->Flush({}).ok());
    }
  };
  const auto debt = [&] {
    const Result<RocksDbCounters> counters = ReadCounters(db.get(), db->DefaultColumnFamily());
    EXPECT_TRUE(counters.ok());
    return EstimateDebt({.options = {.max_bytes_for_level_base = 1 << 20}, .counters = counters.value()});
  };
  const auto of_rocksdb = [&] {
    uint64_t bytes = 0;
    EXPECT_TRUE(db->GetIntProperty(rocksdb::DB::Properties::kEstimatePendingCompactionBytes, &bytes));
    return bytes;
  };
  fill(3);
  const uint64_t begun = of_rocksdb();
  EXPECT_NEAR(static_cast<double>(debt()), static_cast<double>(begun), 0.02 * static_cast<double>(begun));
  fill(5);
  const uint64_t full = of_rocksdb();
  EXPECT_GT(full, 3'000'000U);
  EXPECT_NEAR(static_cast<double>(debt()), static_cast<double>(full), 0.02 * static_cast<double>(full));
}

}  // namespace
}  // namespace weir
