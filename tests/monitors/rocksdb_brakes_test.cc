// How many files of options RocksDB writes because weir moves its brakes.
#include "monitors/rocksdb_brakes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "monitors/rocksdb_monitor.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "tests/monitors/rocksdb_fixture.h"

namespace weir {
namespace {

// Counts the files of options: RocksDB writes each under another name and then renames it.
class CountingFiles final : public rocksdb::FileSystemWrapper {
 public:
  CountingFiles() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}

  const char* Name() const override { return "CountingFiles"; }
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override {
    if (to.find("/OPTIONS-") != std::string::npos) ++options_files_;
    return FileSystemWrapper::RenameFile(from, to, options, debug);
  }
  // Returns how many were written since the last call.
  int TakeOptionsFiles() { return options_files_.exchange(0); }

 private:
  std::atomic<int> options_files_{0};
};

template <typename Db>
constexpr bool kChangesAllAtOnce = requires(Db* db, const FamilyChanges& changes) {
  db->SetOptions(changes);
};

// Returns how many files RocksDB writes for the changes of so many families.
constexpr int FilesFor(int families) { return kChangesAllAtOnce<rocksdb::DB> && families > 0 ? 1 : families; }

TEST(RocksDbBrakes, WriteAFileOfOptionsOnlyWhereAnyMoved) {
  const auto files = std::make_shared<CountingFiles>();
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(files);
  rocksdb::DBOptions db_options = SmallEngine();
  db_options.env = env.get();
  std::vector<rocksdb::ColumnFamilyDescriptor> families{{rocksdb::kDefaultColumnFamilyName, SmallEngine()}};
  for (const char* name : {"a", "b", "c", "d"}) families.emplace_back(name, SmallEngine());
  const PreparedRocksDb prepared = PrepareRocksDb(512 * kMiB, &db_options, &families).value();
  families.emplace_back("foreign", SmallEngine());
  TestDb test;
  test.Open(db_options, families);
  RocksDbMonitor monitor(test.db(), test.handles(), prepared);
  // The program sets a brake itself, so weir leaves this family alone.
  ASSERT_TRUE(test.db()->SetOptions(test.handles()[1], {{"level0_slowdown_writes_trigger", "10"}}).ok());
  files->TakeOptionsFiles();

  ASSERT_TRUE(monitor.MoveBrakes().ok());
  EXPECT_EQ(files->TakeOptionsFiles(), 0) << "they are there already";
  ASSERT_TRUE(monitor.GiveBrakesBack().ok());
  EXPECT_EQ(files->TakeOptionsFiles(), FilesFor(4)) << "neither for the foreign family nor for the program's own";
  ASSERT_TRUE(monitor.GiveBrakesBack().ok());
  EXPECT_EQ(files->TakeOptionsFiles(), 0);
  ASSERT_TRUE(monitor.MoveBrakes().ok());
  EXPECT_EQ(files->TakeOptionsFiles(), FilesFor(4));
  ASSERT_TRUE(monitor.RemoveFamily(test.handles()[5]).ok());
  ASSERT_TRUE(monitor.RemoveFamily(test.handles()[1]).ok());
  EXPECT_EQ(files->TakeOptionsFiles(), 0);
  ASSERT_TRUE(monitor.RemoveFamily(test.handles()[2]).ok());
  EXPECT_EQ(files->TakeOptionsFiles(), 1);
  EXPECT_EQ(test.db()->GetOptions(test.handles()[2]).level0_slowdown_writes_trigger, 12);
  EXPECT_EQ(test.db()->GetOptions(test.handles()[1]).level0_slowdown_writes_trigger, 10);
  monitor.Detach();
  test.Close();
}

TEST(RocksDbBrakes, AFamilyThatWasDroppedKeepsNoOtherFromTheChange) {
  TestDb test;
  test.Open(SmallEngine(), {"dropped", "kept"});
  ASSERT_TRUE(test.db()->DropColumnFamily(test.handles()[1]).ok());
  FamilyChanges changes;
  for (auto* family : test.handles()) changes[family] = {{"level0_slowdown_writes_trigger", "15"}};
  const Status changed = ChangeOptions(test.db(), changes);
  EXPECT_TRUE(changed.ok()) << changed.message();
  for (const size_t family : {0, 2})
    EXPECT_EQ(test.db()->GetOptions(test.handles()[family]).level0_slowdown_writes_trigger, 15);
}

TEST(RocksDbBrakes, AnErrorNamesItsFamilyAndLeavesTheOthersChanged) {
  TestDb test;
  test.Open(SmallEngine(), {"wrong"});
  const FamilyChanges changes{{test.handles()[0], {{"level0_slowdown_writes_trigger", "15"}}},
                              {test.handles()[1], {{"level0_slowdown_writes_trigger", "many"}}}};
  const Status changed = ChangeOptions(test.db(), changes);
  EXPECT_NE(changed.message().find("RocksDB did not take the brakes of column family wrong: "), std::string::npos)
      << changed.message();
  EXPECT_EQ(test.db()->GetOptions().level0_slowdown_writes_trigger, 15);
}

}  // namespace
}  // namespace weir
