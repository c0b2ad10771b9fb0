#include "monitors/rocksdb_text/options_text.h"

#include <gtest/gtest.h>

#include "monitors/rocksdb_options.h"
#include "tests/monitors/rocksdb_fixture.h"

namespace weir {
namespace {

TEST(OptionsText, OfADatabaseHasTheGeometryOfItsOptions) {
  rocksdb::Options options = SmallEngine();
  options.min_write_buffer_number_to_merge = 2;
  options.soft_pending_compaction_bytes_limit = 3 << 20;
  options.hard_pending_compaction_bytes_limit = 9ull << 30;
  rocksdb::ColumnFamilyOptions other = options;
  other.compaction_style = rocksdb::kCompactionStyleUniversal;
  rocksdb::ColumnFamilyOptions dynamic = options;
  dynamic.level_compaction_dynamic_level_bytes = true;
  dynamic.disable_auto_compactions = true;
  rocksdb::ColumnFamilyOptions fifo = options;
  fifo.compaction_style = rocksdb::kCompactionStyleFIFO;
  const std::vector<rocksdb::ColumnFamilyDescriptor> families{
      {"default", options}, {"a \"b\"", other}, {"dynamic", dynamic}, {"fifo", fifo}};
  TestDb db;
  db.Open(options, families);
  const auto text = ReadNewestOptions(db.path());
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_EQ(text.value().rocksdb_version, rocksdb::GetRocksVersionAsString());
  ASSERT_EQ(text.value().families.size(), families.size());
  for (const auto& family : families) {
    const OptionsText::Family* found = text.value().Find(family.name);
    ASSERT_NE(found, nullptr) << family.name;
    EXPECT_EQ(GeometryAsSet(found->options), GeometryAsSet(family.options)) << family.name;
  }
}

TEST(OptionsText, TheNewestFileFollowsSetOptions) {
  TestDb db;
  db.Open(SmallEngine());
  ASSERT_TRUE(db.db()->SetOptions({{"level0_slowdown_writes_trigger", "17"}}).ok());
  const auto text = ReadNewestOptions(db.path());
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text.value().families.at(0).options.level0_slowdown_writes_trigger, 17);
}

TEST(OptionsText, ErrorsSayWhatToGive) {
  const TempDirectory directory;
  EXPECT_NE(ParseOptionsText("hello\n[CFOptions \"\n").status().message().find("OPTIONS-NNNNNN"), std::string::npos);
  EXPECT_NE(ReadNewestOptions(directory.path()).status().message().find("no file OPTIONS-NNNNNN"), std::string::npos);
  EXPECT_FALSE(ReadNewestOptions(directory / "none").ok());
}

TEST(OptionsText, AValueThatIsNoneChangesNothing) {
  LsmOptions options;
  EXPECT_FALSE(SetLsmOption("write_buffer_size", "much", &options));
  EXPECT_FALSE(SetLsmOption("max_write_buffer_number", "99999999999", &options));
  EXPECT_FALSE(SetLsmOption("compaction_style", "kCompactionStyleOther", &options));
  EXPECT_FALSE(SetLsmOption("no_such_option", "1", &options));
  EXPECT_EQ(options, LsmOptions());
  EXPECT_TRUE(SetLsmOption("disable_auto_compactions", "true", &options));
  EXPECT_TRUE(options.disable_auto_compactions);
}

TEST(OptionsText, HasTheOptionsOfTheDatabase) {
  rocksdb::Options options = SmallEngine();
  options.max_background_jobs = 7;
  options.max_subcompactions = 3;
  options.delayed_write_rate = 5 << 20;
  options.stats_dump_period_sec = 11;
  TestDb db;
  db.Open(options);
  const auto text = ReadNewestOptions(db.path());
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_EQ(text.value().max_background_jobs, 7);
  EXPECT_EQ(text.value().max_subcompactions, 3);
  EXPECT_EQ(text.value().delayed_write_rate, 5U << 20);
  EXPECT_EQ(text.value().stats_dump_period_sec, 11U);
}

}  // namespace
}  // namespace weir
