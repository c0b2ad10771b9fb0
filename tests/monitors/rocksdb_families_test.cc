// A monitor of several column families that differ from each other.
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "config/manual_clock.h"
#include "monitors/rocksdb_monitor.h"
#include "rocksdb/utilities/stackable_db.h"
#include "tests/monitors/rocksdb_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint64_t kTarget = 4096 * kMiB;

class RocksDbFamilies : public testing::Test {
 protected:
  LoadSample Sense(LoadMonitor& monitor, Duration later = milliseconds(100)) {
    clock_.Advance(later);
    EXPECT_TRUE(monitor.SampleOnce().ok());
    return monitor.Sample();
  }

  ManualClock clock_;
  TestDb test_;
};

// Like the relay's store: one family has a small buffer and a single key, others take the data.
TEST_F(RocksDbFamilies, TheBurstComesFromTheFamiliesThatTakeData) {
  rocksdb::Options large = SmallEngine();
  large.write_buffer_size = 4 * kMiB;
  test_.Open(SmallEngine(), {{rocksdb::kDefaultColumnFamilyName, SmallEngine()}, {"large", large}});
  RocksDbMonitor monitor(test_.db(), test_.handles(), kTarget, {}, clock_);
  ASSERT_TRUE(test_.db()->Put({}, "format", "1").ok());
  EXPECT_EQ(Sense(monitor).write_burst_bytes, 128u << 10) << "nobody knows yet";
  for (int n = 0; n < 3; ++n) {
    test_.Write(3 * kMiB, 1);
    Sense(monitor, seconds(1));
  }
  EXPECT_EQ(Sense(monitor).write_burst_bytes, 2 * kMiB);
  ASSERT_TRUE(test_.db()->Flush({}, test_.handles()[1]).ok());
  EXPECT_EQ(Sense(monitor, seconds(1)).write_burst_bytes, 2 * kMiB) << "a flush takes nothing in";
}

TEST_F(RocksDbFamilies, RefusesADatabaseOfAnUnknownCompactionStyle) {
  rocksdb::Options options = SmallEngine();
  options.compaction_style = rocksdb::kCompactionStyleNone;
  test_.Open(options);
  try {
    const RocksDbMonitor monitor(test_.db(), {}, kTarget, {}, clock_);
    ADD_FAILURE() << "it took a family without compaction";
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find("column family default has no compaction"), std::string::npos);
  }
}

// The oldest files of such a family are deleted, so however many there are, none of them waits.
TEST_F(RocksDbFamilies, AFamilyWithFifoCompactionHasOnlyMemtables) {
  rocksdb::Options fifo = SmallEngine();
  fifo.compaction_style = rocksdb::kCompactionStyleFIFO;
  std::vector<rocksdb::ColumnFamilyDescriptor> families{{rocksdb::kDefaultColumnFamilyName, SmallEngine()},
                                                        {"queue", fifo}};
  rocksdb::DBOptions db_options = SmallEngine();
  const auto prepared = PrepareRocksDb(kTarget, &db_options, &families);
  ASSERT_TRUE(prepared.ok()) << prepared.status().message();
  test_.Open(db_options, families);
  RocksDbMonitor monitor(test_.db(), test_.handles(), prepared.value(), {}, clock_);
  for (int files = 0; files < 30; ++files) test_.WriteFile(1);
  const LoadSample sample = Sense(monitor);
  EXPECT_EQ(sample.Find("l0")->level, 0);
  EXPECT_GT(sample.Find("l0")->bytes_per_level, 0) << "that of the other family";
  EXPECT_EQ(sample.Find("debt")->level, 0);
  EXPECT_EQ(monitor.Details().l0_files, 0u);
  EXPECT_FALSE(monitor.ShouldThrottleWrites());
  ASSERT_TRUE(test_.db()->PauseBackgroundWork().ok());
  test_.Write(900 << 10, 1);
  EXPECT_GT(Sense(monitor).Find("memtables")->level, 0);
  ASSERT_TRUE(test_.db()->ContinueBackgroundWork().ok());
}

// Dynamic level sizes keep far less in the level below L0 than max_bytes_for_level_base.
TEST_F(RocksDbFamilies, OnlyTheBytesThatL1HasMakeTheDeadTimeLonger) {
  rocksdb::Options options = SmallEngine();
  options.max_bytes_for_level_base = 1024 * kMiB;
  std::vector<Duration> dead_times;
  for (const bool dynamic : {false, true}) {
    options.level_compaction_dynamic_level_bytes = dynamic;
    TestDb test;
    test.Open(options);
    RocksDbMonitor monitor(test.db(), {}, kTarget, {}, clock_);
    dead_times.push_back(Sense(monitor).Find("l0")->dead_time);
  }
  EXPECT_GT(dead_times[0], seconds(7)) << "1 GiB at an assumed 150 MB/s";
  EXPECT_LT(dead_times[1], milliseconds(500)) << "L1 is empty";
}

TEST_F(RocksDbFamilies, AFamilyThatIsAddedWhileTheDatabaseRestsIsCounted) {
  test_.Open(SmallEngine(), {"old"});
  test_.WriteFile(1);
  RocksDbMonitor monitor(test_.db(), {}, kTarget, {}, clock_);
  for (int n = 0; n < 25; ++n) Sense(monitor);
  EXPECT_TRUE(monitor.Details().levels.empty());
  ASSERT_TRUE(monitor.AddFamily(test_.handles()[1]).ok());
  Sense(monitor);
  EXPECT_EQ(monitor.Details().l0_files, 1U);
  ASSERT_FALSE(monitor.Details().levels.empty());
  EXPECT_EQ(monitor.Details().levels.front().files, 1);
}

TEST_F(RocksDbFamilies, AFamilyThatIsCreatedLaterIsSensed) {
  rocksdb::Options options = SmallEngine();
  const Result<PreparedRocksDb> prepared = PrepareRocksDb(64 * kMiB, &options);
  ASSERT_TRUE(prepared.ok());
  test_.Open(options);
  RocksDbMonitor monitor(test_.db(), {}, prepared.value(), {}, clock_);
  EXPECT_EQ(Sense(monitor).LevelOf("l0"), 0);
  ASSERT_TRUE(monitor.MoveBrakes().ok());
  rocksdb::ColumnFamilyHandle* tenant = nullptr;
  ASSERT_TRUE(test_.db()->CreateColumnFamily(options, "tenant", &tenant).ok());
  ASSERT_TRUE(monitor.AddFamily(tenant).ok());
  EXPECT_EQ(monitor.AddFamily(tenant).message(), "column family tenant is watched already: give its handle only once");
  ASSERT_TRUE(test_.db()->PauseBackgroundWork().ok());
  for (int buffers = 0; buffers < 4; ++buffers)
    ASSERT_TRUE(test_.db()->Put({}, tenant, "key", std::string(300 << 10, 'x')).ok());
  EXPECT_NEAR(Sense(monitor).LevelOf("memtables"), 1, 0.1) << "4 of 5 buffers, of which 2 are no backlog";
  ASSERT_TRUE(test_.db()->ContinueBackgroundWork().ok());
  ASSERT_TRUE(monitor.RemoveFamily(tenant).ok());
  EXPECT_EQ(Sense(monitor).LevelOf("memtables"), 0);
  EXPECT_EQ(monitor.RemoveFamily(tenant).message(), "column family tenant is not watched");
  EXPECT_EQ(test_.db()->GetOptions(tenant).level0_slowdown_writes_trigger, 12) << "its brakes were given back";
  ASSERT_TRUE(test_.db()->DestroyColumnFamilyHandle(tenant).ok());
}

// The brakes of its new options are the program's: they have no mark by which a later PrepareRocksDb could know them.
TEST_F(RocksDbFamilies, AFamilyThatIsCreatedAgainWithOtherOptionsKeepsItsBrakes) {
  std::vector<rocksdb::ColumnFamilyDescriptor> families{{rocksdb::kDefaultColumnFamilyName, SmallEngine()},
                                                        {"tenant", SmallEngine()}};
  rocksdb::DBOptions db_options = SmallEngine();
  const Result<PreparedRocksDb> prepared = PrepareRocksDb(kTarget, &db_options, &families);
  ASSERT_TRUE(prepared.ok());
  test_.Open(db_options, families);
  RocksDbMonitor monitor(test_.db(), test_.handles(), prepared.value(), {}, clock_);
  ASSERT_TRUE(monitor.MoveBrakes().ok());
  ASSERT_TRUE(monitor.RemoveFamily(test_.handles()[1]).ok());
  ASSERT_TRUE(test_.db()->DropColumnFamily(test_.handles()[1]).ok());
  rocksdb::ColumnFamilyHandle* tenant = nullptr;
  ASSERT_TRUE(test_.db()->CreateColumnFamily(SmallEngine(), "tenant", &tenant).ok());
  ASSERT_TRUE(monitor.AddFamily(tenant).ok());
  Sense(monitor, seconds(1));
  EXPECT_EQ(test_.db()->GetOptions(tenant).level0_slowdown_writes_trigger, 12);
  ASSERT_TRUE(test_.db()->DestroyColumnFamilyHandle(tenant).ok());
}

TEST_F(RocksDbFamilies, AFamilyOfAMonitorThatNeverMovedBrakesGetsThemBack) {
  rocksdb::Options options = SmallEngine();
  const Result<PreparedRocksDb> prepared = PrepareRocksDb(kTarget, &options);
  ASSERT_TRUE(prepared.ok());
  test_.Open(options);
  RocksDbMonitor monitor(test_.db(), {}, prepared.value(), {}, clock_);
  ASSERT_EQ(test_.db()->GetOptions().level0_slowdown_writes_trigger, 28);
  ASSERT_TRUE(monitor.RemoveFamily(test_.handles()[0]).ok());
  EXPECT_EQ(test_.db()->GetOptions().level0_slowdown_writes_trigger, 12);
}

TEST_F(RocksDbFamilies, AHandleOfAnotherDatabaseCannotBeAdded) {
  test_.Open(SmallEngine());
  TestDb other;
  other.Open(SmallEngine(), {"elsewhere"});
  RocksDbMonitor monitor(test_.db(), {}, kTarget, {}, clock_);
  EXPECT_NE(monitor.AddFamily(other.handles()[1]).message().find("does not belong to the database"), std::string::npos);
  EXPECT_NE(monitor.AddFamily(nullptr).message().find("null pointer"), std::string::npos);
}

TEST_F(RocksDbFamilies, AFamilyThatIsDroppedIsForgotten) {
  rocksdb::Options options = SmallEngine();
  const Result<PreparedRocksDb> prepared = PrepareRocksDb(64 * kMiB, &options);
  ASSERT_TRUE(prepared.ok());
  test_.Open(options);
  std::vector<rocksdb::ColumnFamilyHandle*> tenants(3);
  for (size_t n = 0; n < tenants.size(); ++n)
    ASSERT_TRUE(test_.db()->CreateColumnFamily(options, "tenant" + std::to_string(n), &tenants[n]).ok());
  RocksDbMonitor::Handles all = tenants;
  all.push_back(test_.db()->DefaultColumnFamily());
  RocksDbMonitor monitor(test_.db(), all, prepared.value(), {}, clock_);
  ASSERT_TRUE(monitor.MoveBrakes().ok());
  ASSERT_TRUE(monitor.RemoveFamily(all.back()).ok());
  ASSERT_TRUE(monitor.RemoveFamily(tenants[0]).ok());
  for (auto* tenant : tenants) {
    ASSERT_TRUE(test_.db()->DropColumnFamily(tenant).ok());
    Sense(monitor, seconds(1));
  }
  EXPECT_TRUE(monitor.RemoveFamily(tenants[1]).ok()) << "after it was dropped";
  for (auto* tenant : tenants) {
    ASSERT_TRUE(test_.db()->DestroyColumnFamilyHandle(tenant).ok());
    Sense(monitor, seconds(1));
  }
  const LoadSample sample = Sense(monitor, seconds(1));
  EXPECT_EQ(sample.Find("l0"), nullptr) << "no family is left";
  EXPECT_NE(sample.Find("memory"), nullptr);
  EXPECT_TRUE(monitor.LastError().ok()) << monitor.LastError().message();
}

TEST_F(RocksDbFamilies, RefusesHandlesThatCannotBeWatched) {
  test_.Open(SmallEngine());
  const auto error = [this](rocksdb::DB* db, const RocksDbMonitor::Handles& handles) -> std::string {
    try {
      const RocksDbMonitor monitor(db, handles, kTarget, {}, clock_);
      return "";
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
  };
  auto* const handle = test_.handles()[0];
  EXPECT_EQ(error(test_.db(), {handle}), "");
  EXPECT_NE(error(nullptr, {}).find("null pointer"), std::string::npos);
  EXPECT_NE(error(test_.db(), {nullptr}).find("null pointer"), std::string::npos);
  EXPECT_NE(error(test_.db(), {handle, handle}).find("default is watched already"), std::string::npos);
}

// A database that refuses to flush one of its families.
class RefusingDb final : public rocksdb::StackableDB {
 public:
  RefusingDb(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* refused)
      : StackableDB(std::shared_ptr<rocksdb::DB>(db, [](rocksdb::DB*) {})), refused_(refused) {}

  rocksdb::DB* GetRootDB() override { return this; }
  using StackableDB::Flush;
  rocksdb::Status Flush(const rocksdb::FlushOptions& options, rocksdb::ColumnFamilyHandle* family) override {
    if (family == refused_) return rocksdb::Status::TryAgain("its writes are stopped");
    return StackableDB::Flush(options, family);
  }

 private:
  rocksdb::ColumnFamilyHandle* refused_;
};

TEST_F(RocksDbFamilies, AFlushGoesOnAfterAFamilyThatRefuses) {
  rocksdb::Options options = SmallEngine();
  options.disable_auto_compactions = true;
  test_.Open(options, {"refusing", "other"});
  RefusingDb db(test_.db(), test_.handles()[1]);
  RocksDbMonitor monitor(&db, test_.handles(), kTarget, {}, clock_);
  for (size_t family = 0; family < 3; ++family) test_.Write(32 << 10, family);
  monitor.ForceFlush();
  ASSERT_TRUE(monitor.SampleOnce().ok());
  EXPECT_EQ(monitor.LastError().message(), "flush: refusing: Operation failed. Try again.: its writes are stopped");
  test_.AwaitFileInL0(2);
}

}  // namespace
}  // namespace weir
