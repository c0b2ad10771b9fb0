#include "monitors/rocksdb_options.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "monitors/rocksdb_listener.h"
#include "monitors/rocksdb_monitor.h"
#include "rocksdb/table.h"
#include "tests/monitors/rocksdb_fixture.h"

namespace weir {
namespace {

std::shared_ptr<rocksdb::Cache> CacheOf(const rocksdb::ColumnFamilyOptions& options) {
  return options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>()->block_cache;
}

// Returns the options, prepared with a memory target that is large enough for their caches.
rocksdb::Options Prepared(rocksdb::Options options) {
  EXPECT_TRUE(PrepareRocksDb(16ull << 30, &options).ok());
  return options;
}

TEST(PrepareRocksDb, MovesTheTriggersOfL0) {
  struct Case {
    int trigger, slowdown, stop;
    int moved_slowdown, moved_stop;
  };
  for (const Case& c : {Case{4, 12, 20, 28, 36}, Case{4, 20, 36, 52, 68}, Case{2, 3, 4, 5, 6}, Case{4, 20, 20, 52, 52},
                        Case{4, -1, 36, 100, 100}}) {
    rocksdb::Options options;
    options.level0_file_num_compaction_trigger = c.trigger;
    options.level0_slowdown_writes_trigger = c.slowdown;
    options.level0_stop_writes_trigger = c.stop;
    options = Prepared(options);
    EXPECT_EQ(options.level0_slowdown_writes_trigger, c.moved_slowdown) << c.slowdown;
    EXPECT_EQ(options.level0_stop_writes_trigger, c.moved_stop) << c.stop;
  }
}

TEST(PrepareRocksDb, MultipliesTheLimitsOfDebtAndAddsBuffers) {
  rocksdb::Options options;
  options.soft_pending_compaction_bytes_limit = 512 * kMiB;
  options.hard_pending_compaction_bytes_limit = UINT64_MAX / 2;
  options.max_write_buffer_number = 4;
  const rocksdb::Options prepared = Prepared(options);
  EXPECT_EQ(prepared.soft_pending_compaction_bytes_limit, 4096 * kMiB);
  EXPECT_EQ(prepared.hard_pending_compaction_bytes_limit, UINT64_MAX);
  EXPECT_EQ(prepared.max_write_buffer_number, 6);
  options.soft_pending_compaction_bytes_limit = 0;  // RocksDB then takes the hard limit for both
  EXPECT_EQ(Prepared(options).soft_pending_compaction_bytes_limit, UINT64_MAX);
  options.hard_pending_compaction_bytes_limit = 0;  // no limit
  EXPECT_EQ(Prepared(options).soft_pending_compaction_bytes_limit, 0u);
}

// Without a limiter, moved brakes are the worst choice: a database that nothing controls keeps RocksDB's own.
TEST(PrepareRocksDb, LeavesTheBrakesOfADatabaseWithoutALimiter) {
  rocksdb::Options options = SmallEngine();
  options.soft_pending_compaction_bytes_limit = 512 * kMiB;
  options.hard_pending_compaction_bytes_limit = 2048 * kMiB;
  const rocksdb::Options given = options;
  const auto prepared = PrepareRocksDb(64 * kMiB, &options, {.brakes = EngineBrakes::kAsSet});
  ASSERT_TRUE(prepared.ok()) << prepared.status().message();
  EXPECT_FALSE(prepared.value().geometry.at("default").brakes_moved);
  EXPECT_NE(prepared.value().block_cache, nullptr) << "the rest of it is prepared";
  TestDb test;
  test.Open(options);
  const rocksdb::Options open = test.db()->GetOptions();
  EXPECT_EQ(open.level0_slowdown_writes_trigger, given.level0_slowdown_writes_trigger);
  EXPECT_EQ(open.level0_stop_writes_trigger, given.level0_stop_writes_trigger);
  EXPECT_EQ(open.soft_pending_compaction_bytes_limit, given.soft_pending_compaction_bytes_limit);
  EXPECT_EQ(open.hard_pending_compaction_bytes_limit, given.hard_pending_compaction_bytes_limit);
  EXPECT_EQ(open.max_write_buffer_number, given.max_write_buffer_number);
  EXPECT_EQ(open.min_write_buffer_number_to_merge, given.min_write_buffer_number_to_merge);
}

TEST(PrepareRocksDb, UniversalCompactionHasNoL1ToMatchAndLargeRuns) {
  rocksdb::Options options = SmallEngine();
  options.compaction_style = rocksdb::kCompactionStyleUniversal;
  const auto prepared = PrepareRocksDb(64 * kMiB, &options);
  ASSERT_TRUE(prepared.ok()) << prepared.status().message();
  EXPECT_EQ(options.min_write_buffer_number_to_merge, 2) << "of four, though there is no L1 to match";
  EXPECT_TRUE(prepared.value().geometry.at("default").counts_runs);
  EXPECT_FALSE(GeometryOf(SmallEngine()).counts_runs);
}

// Returns the nice values of RocksDB's compaction threads.
std::vector<int> NiceOfCompactors() {
  std::vector<int> all;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::ifstream(task.path() / "comm") >> name;
    if (name == "rocksdb:low") all.push_back(getpriority(PRIO_PROCESS, std::stoul(task.path().filename())));
  }
  return all;
}

TEST(PrepareRocksDb, CompactionsYieldTheProcessorAndTheProgramsThreadsDoNot) {
  rocksdb::Options options = SmallEngine();
  ASSERT_TRUE(PrepareRocksDb(64 * kMiB, &options).ok());
  const int own = getpriority(PRIO_PROCESS, 0);
  TestDb test;
  test.Open(options);
  for (int n = 0; n < 2; ++n) test.WriteFile();
  ASSERT_TRUE(test.db()->CompactFiles({}, test.Tables(), 1).ok()) << "in this thread";
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), own);
  for (int n = 0; n < 2; ++n) test.WriteFile();
  ASSERT_TRUE(test.db()->CompactRange({}, nullptr, nullptr).ok()) << "in one of RocksDB's";
  EXPECT_GT(std::ranges::count(NiceOfCompactors(), std::max(own, RocksDbListener::kCompactionNice)), 0);
}

TEST(PrepareRocksDb, AProgramMayLetCompactionsYieldFurther) {
  rocksdb::Options options = SmallEngine();
  ASSERT_TRUE(PrepareRocksDb(64 * kMiB, &options, {.brakes = EngineBrakes::kAsSet, .compaction_nice = 19}).ok());
  TestDb test;
  test.Open(options);
  test.WriteFile();
  ASSERT_TRUE(test.db()->CompactRange({}, nullptr, nullptr).ok());
  EXPECT_GT(std::ranges::count(NiceOfCompactors(), 19), 0);
}

TEST(PrepareRocksDb, ANiceValueOutOfItsRangeIsAnError) {
  for (const int nice : {-1, 20}) {
    rocksdb::Options options = SmallEngine();
    const auto prepared = PrepareRocksDb(64 * kMiB, &options, {.compaction_nice = nice});
    ASSERT_FALSE(prepared.ok());
    EXPECT_NE(prepared.status().message().find("compaction_nice is " + std::to_string(nice)), std::string::npos);
    EXPECT_TRUE(options.listeners.empty());
  }
}

TEST(PrepareRocksDb, RefusesAFamilyWithoutCompaction) {
  rocksdb::Options options;
  options.compaction_style = rocksdb::kCompactionStyleNone;
  EXPECT_FALSE(PrepareRocksDb(16ull << 30, &options).ok());
  EXPECT_EQ(options.level0_slowdown_writes_trigger, rocksdb::Options().level0_slowdown_writes_trigger);
  rocksdb::DBOptions db_options;
  std::vector<rocksdb::ColumnFamilyDescriptor> families{{rocksdb::kDefaultColumnFamilyName, {}}, {"queue", options}};
  const auto prepared = PrepareRocksDb(16ull << 30, &db_options, &families);
  ASSERT_FALSE(prepared.ok());
  EXPECT_NE(prepared.status().message().find("column family queue has no compaction"), std::string::npos);
  EXPECT_EQ(families[0].options.level0_slowdown_writes_trigger, rocksdb::Options().level0_slowdown_writes_trigger);
}

TEST(PrepareRocksDb, FlushesSeveralBuffersTogetherIfTheyWouldBeMerged) {
  rocksdb::Options options;
  options.write_buffer_size = 4 * kMiB;
  options.max_write_buffer_number = 4;
  EXPECT_EQ(Prepared(options).min_write_buffer_number_to_merge, 2);
  options.atomic_flush = true;
  EXPECT_EQ(Prepared(options).min_write_buffer_number_to_merge, 1);
}

TEST(GeometryOf, TakesOptionsAsRocksDbDoes) {
  rocksdb::ColumnFamilyOptions options;
  options.max_write_buffer_number = 1;
  options.min_write_buffer_number_to_merge = 9;
  options.level0_file_num_compaction_trigger = 10;
  options.level0_slowdown_writes_trigger = 5;
  options.disable_auto_compactions = true;
  const LsmGeometry g = GeometryOf(options);
  EXPECT_EQ(g.brakes.max_write_buffers, 2);
  EXPECT_EQ(g.buffers_per_flush, 1);
  EXPECT_EQ(g.brakes.l0_slowdown, 11);
  EXPECT_FALSE(g.compaction_brakes);
}

// RocksDB gives a family with FIFO compaction these triggers itself.
TEST(GeometryOf, FifoNeverBrakesForL0) {
  rocksdb::ColumnFamilyOptions options;
  options.compaction_style = rocksdb::kCompactionStyleFIFO;
  const LsmGeometry g = GeometryOf(options);
  EXPECT_FALSE(g.BrakesForL0Files());
  EXPECT_FALSE(g.compaction_brakes);
  EXPECT_TRUE(GeometryOf({}).BrakesForL0Files());
}

TEST(GeometryOf, KnowsThatTheSizeOfL1MayVary) {
  rocksdb::ColumnFamilyOptions options;
  for (const bool dynamic : {false, true}) {
    options.level_compaction_dynamic_level_bytes = dynamic;
    EXPECT_EQ(GeometryOf(options).l1_size_varies, dynamic);
  }
  options.compaction_style = rocksdb::kCompactionStyleUniversal;
  EXPECT_FALSE(GeometryOf(options).l1_size_varies) << "there is no L1";
}

TEST(PrepareRocksDb, SizesCacheAndWriteBuffersFromTheTarget) {
  rocksdb::Options options;
  const Result<PreparedRocksDb> prepared = PrepareRocksDb(1400 * kMiB, &options);
  ASSERT_TRUE(prepared.ok()) << prepared.status().message();
  EXPECT_EQ(CacheOf(options)->GetCapacity(), 700 * kMiB);
  EXPECT_EQ(CacheOf(options), prepared.value().block_cache);
  ASSERT_NE(options.write_buffer_manager, nullptr);
  EXPECT_EQ(options.write_buffer_manager->buffer_size(), 128 * kMiB);
  EXPECT_TRUE(options.write_buffer_manager->cost_to_cache());
  EXPECT_EQ(options.listeners.size(), 1u);
}

TEST(PrepareRocksDb, KeepsTheOptionsThatTheProgramSet) {
  rocksdb::Options options;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(100 * kMiB);
  table.block_size = 16 << 10;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  const auto manager = std::make_shared<rocksdb::WriteBufferManager>(50 * kMiB);
  options.write_buffer_manager = manager;
  const Result<PreparedRocksDb> prepared = PrepareRocksDb(1400 * kMiB, &options);
  ASSERT_TRUE(prepared.ok()) << prepared.status().message();
  EXPECT_EQ(CacheOf(options), table.block_cache);
  EXPECT_EQ(options.write_buffer_manager, manager);
  EXPECT_EQ(prepared.value().budget.write_buffer_bytes, 50 * kMiB);
}

TEST(PrepareRocksDb, KeepsTheOtherTableOptionsWhenItAddsACache) {
  rocksdb::Options options;
  rocksdb::BlockBasedTableOptions table;
  table.block_size = 16 << 10;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  ASSERT_TRUE(PrepareRocksDb(1400 * kMiB, &options).ok());
  EXPECT_EQ(options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>()->block_size, 16u << 10);
}

TEST(PrepareRocksDb, RespectsThatAProgramWantsNoCache) {
  rocksdb::Options options;
  rocksdb::BlockBasedTableOptions table;
  table.no_block_cache = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  const Result<PreparedRocksDb> prepared = PrepareRocksDb(1400 * kMiB, &options);
  ASSERT_TRUE(prepared.ok()) << prepared.status().message();
  EXPECT_EQ(prepared.value().block_cache, nullptr);
  EXPECT_FALSE(options.write_buffer_manager->cost_to_cache());
}

TEST(PrepareRocksDb, ATargetTooSmallForTheCachesChangesNoOption) {
  rocksdb::Options options;
  const Result<PreparedRocksDb> prepared = PrepareRocksDb(100 * kMiB, &options);
  ASSERT_FALSE(prepared.ok());
  EXPECT_NE(prepared.status().message().find("a memory target of 100 MiB cannot hold a block cache of 136 MiB"),
            std::string::npos)
      << prepared.status().message();
  EXPECT_EQ(options.level0_slowdown_writes_trigger, 20);
  EXPECT_EQ(options.write_buffer_manager, nullptr);
  EXPECT_TRUE(options.listeners.empty());
  EXPECT_EQ(prepared.status().message().find("WEIR_"), std::string::npos) << "a program passed the target";
}

TEST(PrepareRocksDb, OnlyTheErrorOfTheTargetNamesItsSetting) {
  rocksdb::Options options;
  RocksDbPreparation preparation{.target_setting = "MEMORY_MB"};
  EXPECT_TRUE(PrepareRocksDb(100 * kMiB, &options, preparation)
                  .status()
                  .message()
                  .starts_with("MEMORY_MB does not fit: a memory target of 100 MiB cannot hold"));
  preparation.compaction_nice = 20;
  EXPECT_EQ(PrepareRocksDb(100 * kMiB, &options, preparation).status().message().find("MEMORY_MB"), std::string::npos);
}

TEST(PrepareRocksDb, AllColumnFamiliesShareOneCache) {
  rocksdb::DBOptions db_options;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const char* name : {"default", "events", "index"}) families.emplace_back(name, SmallEngine());
  families[2].options.level0_slowdown_writes_trigger = 8;
  const Result<PreparedRocksDb> prepared = PrepareRocksDb(64 * kMiB, &db_options, &families);
  ASSERT_TRUE(prepared.ok()) << prepared.status().message();
  for (const auto& family : families) EXPECT_EQ(CacheOf(family.options), prepared.value().block_cache);
  EXPECT_EQ(families[1].options.level0_slowdown_writes_trigger, 28);
  EXPECT_EQ(families[2].options.level0_slowdown_writes_trigger, 16);
  EXPECT_EQ(prepared.value().geometry.at("events").brakes.l0_slowdown, 12);
  EXPECT_EQ(prepared.value().geometry.at("index").brakes.l0_slowdown, 8);
  EXPECT_TRUE(prepared.value().geometry.at("index").brakes_moved);
}

TEST(PrepareRocksDb, ThePreparedOptionsReallyOpen) {
  rocksdb::Options options = SmallEngine();
  ASSERT_TRUE(PrepareRocksDb(64 * kMiB, &options).ok());
  TestDb test;
  test.Open(options, {"more"});
  for (auto* handle : test.handles()) {
    const rocksdb::Options open = test.db()->GetOptions(handle);
    EXPECT_EQ(open.level0_slowdown_writes_trigger, 28);
    EXPECT_EQ(open.level0_stop_writes_trigger, 36);
    EXPECT_EQ(open.max_write_buffer_number, 7);  // four, one more that waits for its partner, two more
    EXPECT_EQ(open.min_write_buffer_number_to_merge, 2);
  }
}

TEST(PrepareRocksDb, AFamilyOfTheSameOptionsHasTheSameGeometry) {
  rocksdb::Options options = SmallEngine();
  const auto prepared = PrepareRocksDb(64 * kMiB, &options);
  ASSERT_TRUE(prepared.ok());
  TestDb test;
  test.Open(options, {"more"});
  for (auto* handle : test.handles())
    EXPECT_EQ(GeometryOf(test.db()->GetOptions(handle)), prepared.value().geometry.at("default")) << handle->GetName();
}

}  // namespace
}  // namespace weir
