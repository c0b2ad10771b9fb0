// Asks the linked RocksDB for each property, counter and default that weir relies on. If another version renames one or
// sets it otherwise, a test fails, instead of a figure that silently stays 0. The table is in monitors/README.md.
#include "monitors/rocksdb_version.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "monitors/rocksdb_counters.h"
#include "monitors/rocksdb_options.h"
#include "rocksdb/table.h"
#include "tests/monitors/rocksdb_fixture.h"

namespace weir {
namespace {

using Properties = rocksdb::DB::Properties;

constexpr int kVersion = ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR;

// A database with two files in L0 and one in L1.
class RocksDbVersion : public testing::Test {
 protected:
  void SetUp() override {
    test_.Open(SmallEngine());
    for (int round = 0; round < 3; ++round) {
      test_.WriteFile();
      if (round == 0) {
        ASSERT_TRUE(test_.db()->CompactRange({}, nullptr, nullptr).ok());
      }
    }
  }
  TestDb test_;
};

TEST_F(RocksDbVersion, AnswersEachPropertyThatWeirReads) {
  for (const std::string& name :
       {Properties::kNumRunningCompactions, Properties::kNumRunningFlushes, Properties::kActualDelayedWriteRate,
        Properties::kIsWriteStopped, Properties::kNumImmutableMemTable, Properties::kCurSizeActiveMemTable,
        Properties::kCurSizeAllMemTables, Properties::kSizeAllMemTables, Properties::kNumEntriesActiveMemTable,
        Properties::kEstimatePendingCompactionBytes, Properties::kCompactionPending, Properties::kMemTableFlushPending,
        Properties::kBlockCacheUsage, Properties::kBlockCachePinnedUsage, Properties::kEstimateTableReadersMem,
        Properties::kBaseLevel, Properties::kLiveSstFilesSize}) {
    uint64_t value = 0;
    EXPECT_TRUE(test_.db()->GetIntProperty(name, &value)) << name;
  }
  for (const std::string& name : {Properties::kCurrentSuperVersionNumber, Properties::kCurSizeAllMemTables}) {
    uint64_t sum = 0;
    EXPECT_TRUE(test_.db()->GetAggregatedIntProperty(name, &sum)) << name;
  }
  std::string files;
  ASSERT_TRUE(test_.db()->GetProperty(Properties::kNumFilesAtLevelPrefix + "0", &files));
  EXPECT_EQ(files, "2");
}

TEST_F(RocksDbVersion, HasEachCounterThatWeirReads) {
  std::map<std::string, std::string> stats;
  ASSERT_TRUE(test_.db()->GetMapProperty(Properties::kCFStats, &stats));
  for (const char* key :
       {"compaction.L0.CompSec", "compaction.L0.NumFiles", "compaction.L0.SizeBytes", "compaction.L0.Score",
        "compaction.L0.WnewGB", "compaction.L0.WriteGB", "compaction.L0.WblobGB", "compaction.L1.RnGB",
        "compaction.L1.MovedGB", "compaction.L1.SizeBytes", "compaction.Sum.WriteGB", "compaction.Sum.WblobGB"})
    EXPECT_TRUE(stats.contains(key)) << key;
  EXPECT_GT(ParseCounters(stats, 1).flushed_bytes, 0);
  EXPECT_EQ(ParseCounters(stats, 1).stall_causes.size(), std::size(kStallCounters) - 2) << "all but the two totals";
  stats.clear();
  ASSERT_TRUE(test_.db()->GetMapProperty(Properties::kDBStats, &stats));
  EXPECT_GT(std::stod(stats["db.user_bytes_written"]), 90 << 10);
}

// PrepareRocksDb writes only values that RocksDB keeps, so it must know which ones RocksDB corrects.
TEST_F(RocksDbVersion, CorrectsANegativeSlowdownAndASoftLimitOfZero) {
  test_.Close();
  rocksdb::Options options = SmallEngine();
  options.level0_slowdown_writes_trigger = -1;
  options.soft_pending_compaction_bytes_limit = 0;
  options.hard_pending_compaction_bytes_limit = 5 * kMiB;
  test_.Open(options);
  EXPECT_EQ(test_.db()->GetOptions().level0_slowdown_writes_trigger, options.level0_file_num_compaction_trigger);
  EXPECT_EQ(test_.db()->GetOptions().soft_pending_compaction_bytes_limit, 5 * kMiB);
}

// Such elements are the mark of prepared options (rocksdb_mark.h).
TEST_F(RocksDbVersion, IgnoresFactorsOfLevelsThatDoNotExist) {
  std::vector<double> scores;
  for (const std::vector<int>& factors : {std::vector<int>{}, {1, 1, 1, 1, -2000000000, 7, 0, 2000000000}}) {
    rocksdb::Options options = SmallEngine();
    options.num_levels = 4;
    options.max_bytes_for_level_multiplier_additional = factors;
    TestDb test;
    test.Open(options);
    test.WriteFile();
    ASSERT_TRUE(test.db()->CompactFiles({}, test.Tables(), 2).ok());
    EXPECT_EQ(test.db()->GetOptions().max_bytes_for_level_multiplier_additional, factors);
    scores.push_back(ReadCounters(test.db(), test.handles()[0]).value().highest_score);
  }
  EXPECT_GT(scores[0], 0);
  EXPECT_NEAR(scores[1], scores[0], scores[0] / 10);
}

TEST(RocksDbDefaults, MatchTheTable) {
  const rocksdb::Options options;
  const auto* table = options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  ASSERT_NE(table, nullptr);
  ASSERT_NE(table->block_cache, nullptr);
  EXPECT_EQ(table->block_cache->GetCapacity(), kVersion < 802 ? 8u << 20 : 32u << 20);
  EXPECT_EQ(std::string_view(table->block_cache->Name()) == "LRUCache", kVersion < 1007);
  EXPECT_EQ(table->format_version, kVersion < 900 ? 5u : kVersion < 1011 ? 6u : 7u);
  EXPECT_EQ(options.level_compaction_dynamic_level_bytes, kVersion >= 804);
  EXPECT_EQ(options.compression, kVersion < 1105 ? rocksdb::kSnappyCompression : rocksdb::kLZ4Compression);
  EXPECT_EQ(options.compaction_readahead_size, kVersion < 807 ? 0u : 2u << 20);
  EXPECT_EQ(options.level0_file_num_compaction_trigger, 4);
  EXPECT_EQ(options.level0_slowdown_writes_trigger, 20);
  EXPECT_EQ(options.level0_stop_writes_trigger, 36);
  EXPECT_EQ(options.soft_pending_compaction_bytes_limit, 64ull << 30);
  EXPECT_EQ(options.hard_pending_compaction_bytes_limit, 256ull << 30);
  EXPECT_EQ(options.max_write_buffer_number, 2);
  EXPECT_EQ(options.max_bytes_for_level_base, 256u << 20);
}

TEST(RocksDbDefaults, GetTheCacheOfTheMemoryTargetInEveryVersion) {
  rocksdb::Options options;
  const auto prepared = PrepareRocksDb(uint64_t{512} << 20, &options);
  ASSERT_TRUE(prepared.ok()) << prepared.status().message();
  const auto* table = options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  EXPECT_EQ(table->block_cache, prepared.value().block_cache);
  EXPECT_EQ(table->block_cache->GetCapacity(), prepared.value().budget.block_cache_bytes);
}

// weir lowers the priority of the threads that RocksDB named (rocksdb_listener.h).
TEST_F(RocksDbVersion, NamesItsThreads) {
  struct Named : rocksdb::EventListener {
    std::atomic<bool> is_rocksdbs{false};
    void OnFlushBegin(rocksdb::DB*, const rocksdb::FlushJobInfo&) override {
      char name[16] = "";
      pthread_getname_np(pthread_self(), name, sizeof name);
      is_rocksdbs = std::string_view(name).starts_with("rocksdb:");
    }
  };
  const auto named = std::make_shared<Named>();
  test_.Close();
  rocksdb::Options options = SmallEngine();
  options.listeners.push_back(named);
  test_.Open(options);
  test_.Write(10 << 10);
  ASSERT_TRUE(test_.db()->Flush({}).ok());
  EXPECT_TRUE(named->is_rocksdbs);
}

TEST(RocksDbVersionBytes, InACacheAreFoundAndDeleted) {
  const std::shared_ptr<rocksdb::Cache> cache = rocksdb::NewLRUCache(1 << 20);
  const std::string key = "0123456789abcdef";
  for (int i = 0; i < 100; ++i) {
    char* const bytes = new char[20000];
    bytes[0] = static_cast<char>(i);
    InsertBytes(cache.get(), key.substr(0, 14) + std::to_string(10 + i % 90), bytes, 20000);
  }
  EXPECT_LE(cache->GetUsage(), 1u << 20) << "those without room were deleted, as the address sanitizer knows";
  rocksdb::Cache::Handle* const handle = cache->Lookup(key.substr(0, 14) + "19");
  ASSERT_NE(handle, nullptr);
  EXPECT_EQ(*static_cast<char*>(cache->Value(handle)), 99);
  cache->Release(handle);
}

}  // namespace
}  // namespace weir
