// Samples go on while another call of the database waits.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>

#include "monitors/rocksdb_monitor.h"
#include "tests/monitors/blocking_db.h"
#include "tests/monitors/rocksdb_fixture.h"

namespace weir {
namespace {

using Call = BlockingDb::Call;

class RocksDbWaitsTest : public testing::Test {
 protected:
  RocksDbWaitsTest() {
    rocksdb::Options options = SmallEngine();
    options.soft_pending_compaction_bytes_limit = options.hard_pending_compaction_bytes_limit = 0;
    const PreparedRocksDb prepared = PrepareRocksDb(512 * kMiB, &options).value();
    test_.Open(options);
    test_.Write(32 << 10);
    db_ = std::make_unique<BlockingDb>(test_.db());
    RocksDbMonitorSettings settings;
    settings.monitor.sample_interval = std::chrono::milliseconds(10);
    monitor_ = std::make_unique<RocksDbMonitor>(db_.get(), RocksDbMonitor::Handles{}, prepared, settings);
    EXPECT_TRUE(monitor_->MoveBrakes().ok());
    monitor_->Start();
  }
  ~RocksDbWaitsTest() override {
    db_->LetGo();
    monitor_.reset();
  }

  // Lets `begin` begin a call that waits, and expects that samples are taken meanwhile.
  void ExpectSamplesDuring(Call call, const std::function<void()>& begin) {
    db_->Block(call);
    begin();
    ASSERT_TRUE(db_->AwaitBlocked());
    for (int n = 0; n < 3; ++n) {
      const auto time = monitor_->Sample().time;
      ASSERT_TRUE(Eventually([&] { return monitor_->Sample().time > time; })) << n;
    }
    EXPECT_EQ(db_->ended(), 0) << "it still waits";
    db_->LetGo();
  }
  int Slowdown() { return test_.db()->GetOptions().level0_slowdown_writes_trigger; }

  TestDb test_;
  std::unique_ptr<BlockingDb> db_;
  std::unique_ptr<RocksDbMonitor> monitor_;
};

TEST_F(RocksDbWaitsTest, WhileAFlushStandsBehindWriters) {
  ExpectSamplesDuring(Call::kFlush, [this] { monitor_->ForceFlush(); });
  test_.AwaitFileInL0(0);
}

TEST_F(RocksDbWaitsTest, WhileAFlushOfTheLargestStandsBehindWriters) {
  ExpectSamplesDuring(Call::kFlush, [this] { monitor_->FlushLargest(); });
  test_.AwaitFileInL0(0);
}

// A bulk load begins: the brakes follow by a change of options.
TEST_F(RocksDbWaitsTest, WhileTheBrakesFollowABulkLoad) {
  ASSERT_EQ(Slowdown(), 28);
  ExpectSamplesDuring(Call::kChangeOfOptions, [this] {
    ASSERT_TRUE(test_.db()->SetOptions({{"disable_auto_compactions", "true"}}).ok());
  });
  EXPECT_TRUE(Eventually([this] { return Slowdown() == std::numeric_limits<int>::max(); }));
  ASSERT_TRUE(monitor_->GiveBrakesBack().ok());
  EXPECT_EQ(Slowdown(), 12) << "the monitor has not taken its own change for the program's";
}

// Otherwise `l0` and `debt` would be 0, and the brakes out of reach, for as long as the database is open.
TEST_F(RocksDbWaitsTest, ABulkLoadThatEndsDuringTheChangeForItIsNoticed) {
  db_->Block(Call::kChangeOfOptions);
  ASSERT_TRUE(test_.db()->SetOptions({{"disable_auto_compactions", "true"}}).ok());
  ASSERT_TRUE(db_->AwaitBlocked());
  ASSERT_TRUE(test_.db()->SetOptions({{"disable_auto_compactions", "false"}}).ok());
  db_->LetGo();
  ASSERT_TRUE(Eventually([this] { return db_->ended() == 1; }));
  EXPECT_TRUE(Eventually([this] { return Slowdown() == 28; }));
}

// The debt has no limit here, so the brakes that weir moves are other ones than the program's.
TEST_F(RocksDbWaitsTest, ABrakeThatTheProgramSetsDuringAChangeIsItsOwn) {
  ASSERT_TRUE(monitor_->GiveBrakesBack().ok());
  std::jthread moves;
  ExpectSamplesDuring(Call::kChangeOfOptions, [&] {
    moves = std::jthread([this] { EXPECT_TRUE(monitor_->MoveBrakes().ok()); });
    ASSERT_TRUE(db_->AwaitBlocked());
    ASSERT_TRUE(test_.db()->SetOptions({{"soft_pending_compaction_bytes_limit", "1073741824"}}).ok());
  });
  moves.join();
  ASSERT_TRUE(monitor_->GiveBrakesBack().ok());
  EXPECT_EQ(test_.db()->GetOptions().soft_pending_compaction_bytes_limit, 1u << 30);
  EXPECT_EQ(Slowdown(), 28) << "from then on weir leaves the brakes alone";
}

TEST_F(RocksDbWaitsTest, WhileTheBrakesAreGivenBack) {
  std::jthread gives;
  ExpectSamplesDuring(Call::kChangeOfOptions,
                      [&] { gives = std::jthread([this] { EXPECT_TRUE(monitor_->GiveBrakesBack().ok()); }); });
  gives.join();
  EXPECT_EQ(Slowdown(), 12);
}

TEST_F(RocksDbWaitsTest, WhileAFamilyIsLookedForOnDisk) {
  rocksdb::ColumnFamilyHandle* tenant = nullptr;
  ASSERT_TRUE(test_.db()->CreateColumnFamily(SmallEngine(), "tenant", &tenant).ok());
  std::jthread adds;
  ExpectSamplesDuring(Call::kListFamilies,
                      [&] { adds = std::jthread([&] { EXPECT_TRUE(monitor_->AddFamily(tenant).ok()); }); });
  adds.join();
  EXPECT_TRUE(monitor_->RemoveFamily(tenant).ok());
  EXPECT_TRUE(test_.db()->DestroyColumnFamilyHandle(tenant).ok());
}

// The program may close the database after Detach.
TEST_F(RocksDbWaitsTest, DetachWaitsForAFlushThatIsUnderWay) {
  db_->Block(Call::kFlush);
  monitor_->ForceFlush();
  ASSERT_TRUE(db_->AwaitBlocked());
  std::jthread detaches([this] {
    monitor_->Detach();
    EXPECT_EQ(db_->ended(), 1);
  });
  const auto time = monitor_->Sample().time;
  EXPECT_TRUE(Eventually([&] { return monitor_->Sample().time > time; })) << "samples go on until then";
  db_->LetGo();
  detaches.join();
  EXPECT_FALSE(monitor_->attached());
}

}  // namespace
}  // namespace weir
