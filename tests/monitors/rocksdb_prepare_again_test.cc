// Options that are prepared more than once: in one process, or after RocksDB stored them and they were loaded.
#include <gtest/gtest.h>

#include <climits>
#include <random>

#include "monitors/rocksdb_listener.h"
#include "monitors/rocksdb_options.h"
#include "rocksdb/utilities/options_util.h"
#include "tests/monitors/rocksdb_fixture.h"

namespace weir {
namespace {

constexpr uint64_t kTarget = 16ull << 30;

// The options of a database with one column family, in the form in which RocksDB loads them.
struct Stored {
  rocksdb::DBOptions db;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;

  explicit Stored(const rocksdb::Options& options)
      : db(options), families{{rocksdb::kDefaultColumnFamilyName, options}} {}

  rocksdb::ColumnFamilyOptions& family() { return families.front().options; }
  PreparedRocksDb Prepare(const RocksDbPreparation& preparation = {}) {
    auto prepared = PrepareRocksDb(kTarget, &db, &families, preparation);
    EXPECT_TRUE(prepared.ok()) << prepared.status().message();
    return prepared.ok() ? prepared.value() : PreparedRocksDb();
  }
  LsmGeometry Geometry(const RocksDbPreparation& preparation = {}) {
    return Prepare(preparation).geometry[rocksdb::kDefaultColumnFamilyName];
  }
  // Opens the database with these options, so that it stores them, and loads what it stored.
  void SaveAndLoad(TestDb& test) {
    test.Open(db, families);
    test.Close();
    db = {};
    families.clear();
    const auto loaded = rocksdb::LoadLatestOptions({}, test.path(), &db, &families);
    ASSERT_TRUE(loaded.ok()) << loaded.ToString();
    ASSERT_EQ(families.size(), 1u);
  }
};

template <typename T>
T OneOf(std::mt19937& random, std::initializer_list<T> values) {
  return values.begin()[random() % values.size()];
}

// Returns options of which many are wrong or unusual: RocksDB corrects them when it opens a database.
rocksdb::Options RandomOptions(std::mt19937& random) {
  rocksdb::Options o = SmallEngine();
  o.compaction_style = OneOf(
      random, {rocksdb::kCompactionStyleLevel, rocksdb::kCompactionStyleUniversal, rocksdb::kCompactionStyleFIFO});
  o.write_buffer_size = OneOf<size_t>(random, {1, 64 << 10, 256 << 10, 4 << 20});
  o.max_write_buffer_number = OneOf(random, {0, 1, 2, 3, 4, 12});
  o.min_write_buffer_number_to_merge = OneOf(random, {0, 1, 2, 9});
  o.level0_file_num_compaction_trigger = OneOf(random, {0, 1, 4, 10, INT_MAX});
  o.level0_slowdown_writes_trigger = OneOf(random, {-1, 0, 3, 12, 20, 1 << 30, INT_MAX});
  o.level0_stop_writes_trigger = OneOf(random, {0, 3, 20, 36, 1 << 30, INT_MAX});
  o.soft_pending_compaction_bytes_limit = OneOf<uint64_t>(random, {0, 1 << 20, 64ull << 30, UINT64_MAX});
  o.hard_pending_compaction_bytes_limit = OneOf<uint64_t>(random, {0, 1 << 20, 256ull << 30, UINT64_MAX});
  o.max_bytes_for_level_base = OneOf<uint64_t>(random, {0, 2 << 20, 1ull << 30});
  o.num_levels = OneOf(random, {1, 2, 7, 20});
  o.max_bytes_for_level_multiplier_additional.resize(random() % 9, 2);
  o.level_compaction_dynamic_level_bytes = random() % 2 == 0;
  o.disable_auto_compactions = random() % 4 == 0;
  o.atomic_flush = random() % 4 == 0;
  return o;
}

void ExpectSame(const rocksdb::ColumnFamilyOptions& a, const rocksdb::ColumnFamilyOptions& b) {
  EXPECT_EQ(a.max_write_buffer_number, b.max_write_buffer_number);
  EXPECT_EQ(a.min_write_buffer_number_to_merge, b.min_write_buffer_number_to_merge);
  EXPECT_EQ(a.level0_slowdown_writes_trigger, b.level0_slowdown_writes_trigger);
  EXPECT_EQ(a.level0_stop_writes_trigger, b.level0_stop_writes_trigger);
  EXPECT_EQ(a.soft_pending_compaction_bytes_limit, b.soft_pending_compaction_bytes_limit);
  EXPECT_EQ(a.hard_pending_compaction_bytes_limit, b.hard_pending_compaction_bytes_limit);
  EXPECT_EQ(a.max_bytes_for_level_multiplier_additional, b.max_bytes_for_level_multiplier_additional);
}

TEST(PrepareAgain, AfterSaveAndLoadIsAsTheFirstTime) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    SCOPED_TRACE(seed);
    TestDb test;
    Stored options(RandomOptions(random));
    const LsmGeometry geometry = options.Geometry();
    const rocksdb::ColumnFamilyOptions once = options.family();
    for (int starts = 0; starts < 3; ++starts) {
      ASSERT_NO_FATAL_FAILURE(options.SaveAndLoad(test));
      EXPECT_EQ(options.Geometry(), geometry);
      ASSERT_NO_FATAL_FAILURE(ExpectSame(options.family(), once));
    }
    if (testing::Test::HasFailure()) break;
  }
}

// The brakes of a database that was prepared are where the monitor takes them to be.
TEST(PrepareAgain, ADatabaseHasTheBrakesOfItsGeometry) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    TestDb test;
    Stored options(RandomOptions(random));
    const LsmGeometry geometry = options.Geometry();
    test.Open(options.db, options.families);
    EXPECT_TRUE(HasBrakesOf(geometry, test.db()->GetOptions())) << seed;
    EXPECT_EQ(GeometryOf(test.db()->GetOptions()), geometry) << seed;
  }
}

TEST(PrepareAgain, WithoutALimiterTheBrakesGoBack) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const rocksdb::Options given = RandomOptions(random);
    TestDb test;
    Stored options(given);
    options.Prepare();
    ASSERT_NO_FATAL_FAILURE(options.SaveAndLoad(test));
    EXPECT_FALSE(options.Geometry({.brakes = EngineBrakes::kAsSet}).brakes_moved);
    ExpectSame(options.family(), given);
  }
}

TEST(PrepareAgain, AnOptionThatWasChangedSinceThenIsTakenAsItIs) {
  TestDb test;
  Stored options(SmallEngine());
  options.Prepare();
  ASSERT_NO_FATAL_FAILURE(options.SaveAndLoad(test));
  options.family().level0_slowdown_writes_trigger = 15;
  const LsmGeometry geometry = options.Geometry();
  EXPECT_EQ(geometry.brakes.l0_slowdown, 15);
  EXPECT_EQ(geometry.brakes.l0_stop, 20);
  EXPECT_EQ(geometry.brakes.max_write_buffers, 5);
}

// The brakes of an open database are given back when its throttle ends; RocksDB then stores those.
TEST(PrepareAgain, AfterTheBrakesWereGivenBackIsAsTheFirstTime) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    SCOPED_TRACE(seed);
    TestDb test;
    Stored options(RandomOptions(random));
    LsmGeometry geometry = options.Geometry();
    const rocksdb::ColumnFamilyOptions once = options.family();
    ASSERT_NO_FATAL_FAILURE(options.SaveAndLoad(test));
    LsmGeometry resting = geometry;
    resting.brakes_moved = false;
    const LsmBrakes brakes = BrakesOf(resting);
    options.family().max_write_buffer_number = brakes.max_write_buffers;
    options.family().level0_slowdown_writes_trigger = brakes.l0_slowdown;
    options.family().level0_stop_writes_trigger = brakes.l0_stop;
    options.family().soft_pending_compaction_bytes_limit = brakes.soft_pending_bytes;
    options.family().hard_pending_compaction_bytes_limit = brakes.hard_pending_bytes;
    ASSERT_NO_FATAL_FAILURE(options.SaveAndLoad(test));
    EXPECT_EQ(options.Geometry(), geometry);
    ExpectSame(options.family(), once);
  }
}

TEST(PrepareAgain, InOneProcessReplacesWhatWasAdded) {
  Stored options(SmallEngine());
  const PreparedRocksDb first = options.Prepare();
  const rocksdb::ColumnFamilyOptions once = options.family();
  const PreparedRocksDb second = options.Prepare({.brakes = EngineBrakes::kMoved});
  ExpectSame(options.family(), once);
  EXPECT_EQ(second.geometry, first.geometry);
  EXPECT_EQ(second.budget, first.budget);
  ASSERT_EQ(options.db.listeners.size(), 1u);
  EXPECT_EQ(options.db.listeners.front(), second.listener);
  EXPECT_EQ(options.db.write_buffer_manager, second.write_buffer_manager);
  EXPECT_NE(second.block_cache, first.block_cache) << "each database has its own";
}

TEST(PrepareAgain, ASmallerTargetMakesASmallerCache) {
  Stored options(SmallEngine());
  options.Prepare();
  const auto second = PrepareRocksDb(64 * kMiB, &options.db, &options.families);
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_EQ(second.value().block_cache->GetCapacity(), 32 * kMiB);
}

TEST(PrepareAgain, WithoutTheListenerMovesNothingFurther) {
  Stored options(SmallEngine());
  const PreparedRocksDb first = options.Prepare();
  const rocksdb::ColumnFamilyOptions once = options.family();
  options.db.listeners.clear();
  const PreparedRocksDb second = options.Prepare();
  ExpectSame(options.family(), once);
  EXPECT_EQ(second.budget, first.budget);
  EXPECT_EQ(second.block_cache, first.block_cache) << "it counts as the program's";
}

}  // namespace
}  // namespace weir
