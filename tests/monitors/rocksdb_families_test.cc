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
  for (const auto style : {rocksdb::kCompactionStyleFIFO, rocksdb::kCompactionStyleNone}) {
    rocksdb::Options options = SmallEngine();
    options.compaction_style = style;
    TestDb test;
    test.Open(options);
    try {
      const RocksDbMonitor monitor(test.db(), {}, kTarget, {}, clock_);
      ADD_FAILURE() << "it took style " << static_cast<int>(style);
    } catch (const std::invalid_argument& e) {
      EXPECT_NE(std::string(e.what()).find("column family default uses neither level nor universal compaction"),
                std::string::npos);
    }
  }
}

// A database that refuses to flush one of its families.
class RefusingDb final : public rocksdb::StackableDB {
 public:
  RefusingDb(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* refused)
      : StackableDB(std::shared_ptr<rocksdb::DB>(db, [](rocksdb::DB*) {})), refused_(refused) {}

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
