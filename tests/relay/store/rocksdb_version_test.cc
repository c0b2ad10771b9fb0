// A store that one version of RocksDB wrote is opened by others, later and earlier ones: no default of a version
// decides about its files or its shape. `make fresh` hands one from system to system; here is the rule.
#include "monitors/rocksdb_version.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "relay/store/database.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/options_util.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

class StoreOfAnyRocksDb : public testing::Test {
 protected:
  void SetUp() override { SaveAll(*MustOpen(SmallStore(path_)), {Plain(Author(1), 1000, 1)}); }

  TempDirectory directory_;
  const std::string path_ = directory_ / "events";
};

TEST_F(StoreOfAnyRocksDb, HasTablesOfTheFormatThatAllVersionsRead) {
  const auto store = MustOpen(SmallStore(path_));
  ASSERT_EQ(store->families().size(), 3u);
  for (rocksdb::ColumnFamilyHandle* family : store->families()) {
    const rocksdb::Options options = store->db()->GetOptions(family);
    const auto* table = options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
    ASSERT_NE(table, nullptr);
    EXPECT_EQ(table->format_version, 5u) << family->GetName();
    EXPECT_FALSE(options.level_compaction_dynamic_level_bytes) << family->GetName();
    for (const rocksdb::CompressionType compression : options.compression_per_level) {
      EXPECT_TRUE(compression == rocksdb::kLZ4Compression || compression == rocksdb::kZSTD);
    }
    if (options.compression_per_level.empty()) {
      EXPECT_TRUE(options.compression == rocksdb::kLZ4Compression || options.compression == rocksdb::kNoCompression);
    }
  }
}

TEST_F(StoreOfAnyRocksDb, TellsWhichOneHadItBefore) {
  EXPECT_EQ(AboutAnotherRocksDb(path_), "");
  std::string name;
  ASSERT_TRUE(rocksdb::GetLatestOptionsFileName(path_, rocksdb::Env::Default(), &name).ok());
  const fs::path file = fs::path(path_) / name;
  std::ifstream in(file);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::string now = "rocksdb_version=" + rocksdb::GetRocksVersionAsString();
  ASSERT_TRUE(Has(text, now));
  text.replace(text.find(now), now.size(), "rocksdb_version=6.4.2");
  std::ofstream(file) << text;
  const std::string sentence = AboutAnotherRocksDb(path_);
  EXPECT_TRUE(Has(sentence, "RocksDB 6.4.2 had the database in " + path_)) << sentence;
  EXPECT_NE(MustOpen(SmallStore(path_)), nullptr);
  EXPECT_EQ(AboutAnotherRocksDb(path_), "") << "since it was opened by this one";
}

}  // namespace
}  // namespace weir
