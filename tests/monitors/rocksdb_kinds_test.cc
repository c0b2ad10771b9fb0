// A monitor of each kind of database and of table that RocksDB has.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "monitors/rocksdb_monitor.h"
#include "rocksdb/memtablerep.h"
#include "rocksdb/rate_limiter.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/db_ttl.h"
#include "tests/monitors/rocksdb_fixture.h"

namespace weir {
namespace {

constexpr uint64_t kTarget = 4096 * kMiB;

// Expects good samples, from a database that has one file in L0.
void ExpectSensed(rocksdb::DB* db, const std::string& kind) {
  RocksDbMonitor monitor(db, {}, kTarget);
  for (int n = 0; n < 2; ++n) ASSERT_TRUE(monitor.SampleOnce().ok()) << kind << ": " << monitor.LastError().message();
  EXPECT_EQ(monitor.Details().l0_files, 1u) << kind;
  for (const char* name : {"memtables", "l0", "score", "debt", "own", "memory"})
    EXPECT_NE(monitor.Sample().Find(name), nullptr) << kind << ": " << name;
  monitor.Detach();
}

TEST(RocksDbKinds, TablesAndMemtablesOfAnyKindAreSensed) {
  rocksdb::Options plain = SmallEngine();
  plain.table_factory.reset(rocksdb::NewPlainTableFactory());
  plain.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(4));
  plain.allow_mmap_reads = true;
  rocksdb::Options hash = SmallEngine();
  hash.memtable_factory.reset(rocksdb::NewHashSkipListRepFactory(16));
  hash.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(4));
  hash.allow_concurrent_memtable_write = false;
  rocksdb::Options one_level = SmallEngine();
  one_level.compaction_style = rocksdb::kCompactionStyleUniversal;
  one_level.num_levels = 1;
  for (const auto& [kind, options] : {std::pair("plain tables", plain), std::pair("hash skip list", hash),
                                      std::pair("universal compaction of one level", one_level)}) {
    TestDb test;
    test.Open(options);
    test.WriteFile();
    ExpectSensed(test.db(), kind);
  }
}

TEST(RocksDbKinds, ReadersAreSensed) {
  TestDb test;
  const rocksdb::Options options = SmallEngine();
  test.Open(options);
  test.WriteFile();
  OpenedRocksDb secondary{};
  ASSERT_TRUE(rocksdb::DB::OpenAsSecondary(options, test.path(), test.path() + "/secondary", &secondary).ok());
  ExpectSensed(OwnerOf(&secondary).get(), "secondary");
  OpenedRocksDb reader{};
  ASSERT_TRUE(rocksdb::DB::OpenForReadOnly(options, test.path(), &reader).ok());
  ExpectSensed(OwnerOf(&reader).get(), "read-only");
}

TEST(RocksDbKinds, ADatabaseWithATimeToLiveIsSensed) {
  const TempDirectory directory;
  rocksdb::DBWithTTL* opened = nullptr;
  ASSERT_TRUE(rocksdb::DBWithTTL::Open(SmallEngine(), directory.path(), &opened, 3600).ok());
  const std::unique_ptr<rocksdb::DB> db(opened);
  ASSERT_TRUE(db->Put({}, "key", "value").ok() && db->Flush({}).ok());
  ExpectSensed(db.get(), "DBWithTTL");
}

// Each of them has the compactions of the other beside its own.
TEST(RocksDbKinds, AnotherDatabaseOfTheRateLimiterRaisesNoLevel) {
  rocksdb::Options options = SmallEngine();
  options.rate_limiter.reset(rocksdb::NewGenericRateLimiter(64 << 20));
  TestDb ours;
  TestDb other;
  ours.Open(options);
  other.Open(options);
  RocksDbMonitor monitor(ours.db(), {}, kTarget);
  ASSERT_TRUE(monitor.SampleOnce().ok());
  const double at_rest = monitor.LoadLevel();
  other.Write(4 * kMiB);
  ASSERT_TRUE(other.db()->CompactRange({}, nullptr, nullptr).ok());
  ASSERT_TRUE(monitor.SampleOnce().ok()) << monitor.LastError().message();
  EXPECT_EQ(monitor.LoadLevel(), at_rest);
  EXPECT_EQ(monitor.Sample().escapes, 0u);
}

}  // namespace
}  // namespace weir
