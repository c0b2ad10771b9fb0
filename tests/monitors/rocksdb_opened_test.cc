#include "monitors/rocksdb_opened.h"

#include <gtest/gtest.h>

#include <memory>

#include "monitors/rocksdb_monitor.h"
#include "rocksdb/env.h"
#include "rocksdb/utilities/transaction_db.h"
#include "tests/monitors/rocksdb_fixture.h"

namespace weir {
namespace {

constexpr uint64_t kTarget = 1024 * kMiB;

class CheckOpenedTest : public testing::Test {
 protected:
  CheckOpenedTest() {
    for (const char* name : {"default", "events"}) families_.emplace_back(name, SmallEngine());
  }
  PreparedRocksDb Prepare(EngineBrakes brakes = EngineBrakes::kMoved) {
    return PrepareRocksDb(kTarget, &db_options_, &families_, {.brakes = brakes}).value();
  }
  // Opens a database, and returns what CheckOpened says of it.
  std::string Opened(const rocksdb::DBOptions& db_options, const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
                     const PreparedRocksDb& prepared) {
    test_.Open(db_options, families);
    return Checked(test_.handles(), &prepared);
  }
  std::string Checked(const std::vector<rocksdb::ColumnFamilyHandle*>& handles, const PreparedRocksDb* prepared) {
    return CheckOpened(test_.db(), handles, prepared, kTarget).message();
  }

  rocksdb::DBOptions db_options_ = SmallEngine();
  std::vector<rocksdb::ColumnFamilyDescriptor> families_;
  TestDb test_;
};

TEST_F(CheckOpenedTest, WhatWasPreparedAndOpenedIsRight) {
  for (const EngineBrakes brakes : {EngineBrakes::kMoved, EngineBrakes::kAsSet}) {
    const PreparedRocksDb prepared = Prepare(brakes);
    EXPECT_EQ(Opened(db_options_, families_, prepared), "");
    test_.Close();
  }
}

TEST_F(CheckOpenedTest, ACopyThatWasPreparedWhileTheOriginalWasOpened) {
  const rocksdb::DBOptions db_options = db_options_;
  const auto families = families_;
  const PreparedRocksDb prepared = Prepare();
  EXPECT_NE(Opened(db_options, families, prepared).find("weir's listener is missing"), std::string::npos);
  test_.Close();
  const std::string brakes = Opened(db_options_, families, prepared);
  EXPECT_NE(brakes.find("column family default was opened with brakes at 12 and 20 files"), std::string::npos);
  EXPECT_NE(brakes.find("prepared with brakes at 28 and 36 files"), std::string::npos) << brakes;
  EXPECT_NE(brakes.find("Pass to DB::Open the options that PrepareRocksDb changed"), std::string::npos);
}

TEST_F(CheckOpenedTest, AnotherBlockCacheOrWriteBufferManager) {
  const auto families = families_;
  const PreparedRocksDb prepared = Prepare(EngineBrakes::kAsSet);
  EXPECT_NE(Opened(db_options_, families, prepared).find("default has RocksDB's own block cache"), std::string::npos);
  test_.Close();
  db_options_.write_buffer_manager = nullptr;
  EXPECT_NE(Opened(db_options_, families_, prepared).find("its WriteBufferManager is another one"), std::string::npos);
}

// A throttle that ends may give the brakes back, and another one may be attached later.
TEST_F(CheckOpenedTest, BrakesMayHaveBeenChangedSinceItWasOpened) {
  const PreparedRocksDb prepared = Prepare();
  test_.Open(db_options_, families_);
  auto* events = test_.handles()[1];
  ASSERT_TRUE(test_.db()->SetOptions(events, {{"level0_slowdown_writes_trigger", "12"}}).ok());
  EXPECT_EQ(Checked(test_.handles(), &prepared), "");
}

TEST_F(CheckOpenedTest, APreparedFamilyWithoutItsHandle) {
  const PreparedRocksDb prepared = Prepare();
  test_.Open(db_options_, families_);
  const std::string missing = Checked({test_.handles()[0]}, &prepared);
  EXPECT_NE(missing.find("column family events was opened with prepared options, but its handle is missing"),
            std::string::npos);
  EXPECT_NE(missing.find("pass its handle"), std::string::npos);
  ASSERT_TRUE(test_.db()->DropColumnFamily(test_.handles()[1]).ok());
  EXPECT_EQ(Checked({test_.handles()[0]}, &prepared), "") << "there is nothing to limit";
}

TEST_F(CheckOpenedTest, AFamilyThatWasOpenedWithTheOptionsPreparedForAnother) {
  rocksdb::Options options = SmallEngine();
  const PreparedRocksDb prepared = PrepareRocksDb(kTarget, &options).value();
  test_.Open(options, {{"default", options}, {"copy", options}, {"own", SmallEngine()}});
  auto* const opened = test_.handles()[0];
  EXPECT_NE(Checked({opened}, &prepared).find("column family copy was opened with prepared"), std::string::npos);
  EXPECT_EQ(Checked({opened, test_.handles()[1]}, &prepared), "") << "the third one has RocksDB's own brakes";
}

TEST_F(CheckOpenedTest, AHandleThatIsNullOrOfAnotherDatabase) {
  test_.Open(db_options_, families_);
  EXPECT_NE(Checked({test_.handles()[0], nullptr}, nullptr).find("handle 2 of 2 is a null pointer"), std::string::npos);
  TestDb other;
  other.Open(SmallEngine(), {"elsewhere"});
  for (auto* handle : other.handles()) {
    const std::string foreign = Checked({handle}, nullptr);
    EXPECT_NE(
        foreign.find("column family " + handle->GetName() + " does not belong to the database in " + test_.path()),
        std::string::npos)
        << foreign;
  }
}

TEST_F(CheckOpenedTest, AFamilyMayHaveADirectoryOfItsOwn) {
  const TempDirectory directory;
  families_[1].options.cf_paths = {{directory.path(), UINT64_MAX}};
  EXPECT_EQ(Opened(db_options_, families_, Prepare()), "");
}

TEST_F(CheckOpenedTest, AFamilyMayNameTheDirectoryOfItsDatabaseInAnotherWay) {
  families_[1].options.cf_paths = {{test_.path() + "/./", UINT64_MAX}};
  EXPECT_EQ(Opened(db_options_, families_, Prepare()), "");
}

// The stored options are those of the process that writes.
TEST_F(CheckOpenedTest, AReaderMayOpenFewerFamiliesThanTheWriter) {
  const PreparedRocksDb prepared = Prepare();
  test_.Open(db_options_, families_);
  test_.Close();
  rocksdb::Options options = SmallEngine();
  const PreparedRocksDb reader = PrepareRocksDb(kTarget, &options).value();
  OpenedRocksDb opened{};
  ASSERT_TRUE(rocksdb::DB::OpenForReadOnly(options, test_.path(), &opened).ok());
  const std::unique_ptr<rocksdb::DB> db = OwnerOf(&opened);
  EXPECT_EQ(CheckOpened(db.get(), {db->DefaultColumnFamily()}, &reader, kTarget).message(), "");
}

TEST_F(CheckOpenedTest, NoDatabaseAndNoTarget) {
  EXPECT_NE(CheckOpened(nullptr, {}, nullptr, kTarget).message().find("database is a null pointer"), std::string::npos);
  test_.Open(SmallEngine());
  EXPECT_NE(CheckOpened(test_.db(), {}, nullptr, 0).message().find("memory target is 0"), std::string::npos);
}

TEST_F(CheckOpenedTest, ADatabaseThatWrapsAnotherIsTheOneThatWasPrepared) {
  const PreparedRocksDb prepared = Prepare();
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::TransactionDB* opened = nullptr;
  const rocksdb::Status status =
      rocksdb::TransactionDB::Open(db_options_, {}, test_.path(), families_, &handles, &opened);
  ASSERT_TRUE(status.ok()) << status.ToString();
  const std::unique_ptr<rocksdb::TransactionDB> db(opened);
  EXPECT_EQ(CheckOpened(db.get(), handles, &prepared, kTarget).message(), "");
  for (auto* handle : handles) EXPECT_TRUE(db->DestroyColumnFamilyHandle(handle).ok());
}

TEST_F(CheckOpenedTest, ADatabaseInMemoryWithATimeToLiveIsSensed) {
  const std::unique_ptr<rocksdb::Env> env(rocksdb::NewMemEnv(rocksdb::Env::Default()));
  db_options_.env = env.get();
  for (auto& family : families_) family.options.ttl = 3600;
  const PreparedRocksDb prepared = Prepare();
  test_.Open(db_options_, families_);
  RocksDbMonitor monitor(test_.db(), test_.handles(), prepared);
  test_.WriteFile(1);
  ASSERT_TRUE(monitor.SampleOnce().ok()) << monitor.LastError().message();
  EXPECT_EQ(monitor.Details().l0_files, 1u);
  monitor.Detach();
  test_.Close();
}

}  // namespace
}  // namespace weir
