#include "throttle/rocksdb/rocksdb_throttle.h"

#include <gtest/gtest.h>

#include "tests/fixtures/eventually.h"
#include "tests/monitors/rocksdb_fixture.h"

namespace weir {
namespace {

constexpr uint64_t kTarget = 512 * kMiB;

class RocksDbThrottleTest : public testing::Test {
 protected:
  // Opens a database with prepared options.
  PreparedRocksDb Open(EngineBrakes brakes = EngineBrakes::kMoved) {
    rocksdb::Options options = SmallEngine();
    auto prepared = PrepareRocksDb(kTarget, &options, {.brakes = brakes});
    test_.Open(options);
    return prepared.value();
  }

  TestDb test_;
};

TEST_F(RocksDbThrottleTest, AdmitsAndShowsItsMeasurements) {
  const PreparedRocksDb prepared = Open();
  auto throttle = RocksDbThrottle::Attach(test_.db(), prepared);
  ASSERT_TRUE(throttle.ok()) << throttle.status().message();
  ASSERT_TRUE(Eventually([&] { return throttle.value()->View().sample.time.has_value(); }));
  EXPECT_NE(throttle.value()->View().sample.Find("l0"), nullptr);
  EXPECT_TRUE(throttle.value()->Admit(Operation::kWrite, {100}).admitted());
  EXPECT_EQ(throttle.value()->MaybeThrottle(Operation::kWrite), Duration::zero());
  EXPECT_EQ(throttle.value()->limiter().Stats(Operation::kWrite).admitted[0].operations, 1u);
  EXPECT_EQ(throttle.value()->monitor().own_budget_bytes(), kTarget / 8);
}

TEST_F(RocksDbThrottleTest, AttachesToADatabaseOfForeignOptions) {
  test_.Open(SmallEngine(), {"other"});
  auto throttle = RocksDbThrottle::Attach(test_.db(), kTarget, {.handles = test_.handles()});
  ASSERT_TRUE(throttle.ok());
  EXPECT_TRUE(throttle.value()->Stop().ok());
  EXPECT_TRUE(throttle.value()->Admit(Operation::kWrite, {100}).admitted()) << "a stopped one limits nothing";
}

TEST_F(RocksDbThrottleTest, MayEndWhileTheDatabaseIsWrittenTo) {
  const PreparedRocksDb prepared = Open();
  for (int i = 0; i < 5; ++i) {
    auto throttle =
        RocksDbThrottle::Attach(test_.db(), prepared, {.monitor = {.monitor = {std::chrono::milliseconds(10)}}});
    ASSERT_TRUE(throttle.ok());
    test_.WriteFile();
  }
}

TEST_F(RocksDbThrottleTest, SettingsThatContradictEachOtherAreAnError) {
  const PreparedRocksDb prepared = Open();
  LimiterSettings settings;
  settings.recovery = settings.emergency;
  const auto throttle = RocksDbThrottle::Attach(test_.db(), prepared, {.limiter = settings});
  EXPECT_NE(throttle.status().message().find("must be below WEIR_RATE_LIMIT_EMERGENCY"), std::string::npos);
}

TEST_F(RocksDbThrottleTest, CompactionThatCannotBeSensedIsAnError) {
  rocksdb::Options options = SmallEngine();
  options.compaction_style = rocksdb::kCompactionStyleNone;
  test_.Open(options);
  const auto throttle = RocksDbThrottle::Attach(test_.db(), kTarget);
  EXPECT_NE(throttle.status().message().find("column family default has no compaction"), std::string::npos);
}

TEST_F(RocksDbThrottleTest, AFamilyThatCannotBeSensedMayBeLeftOut) {
  rocksdb::DBOptions db_options = SmallEngine();
  std::vector<rocksdb::ColumnFamilyDescriptor> families{{rocksdb::kDefaultColumnFamilyName, SmallEngine()}};
  const PreparedRocksDb prepared = PrepareRocksDb(kTarget, &db_options, &families).value();
  rocksdb::ColumnFamilyOptions none = SmallEngine();
  none.compaction_style = rocksdb::kCompactionStyleNone;
  families.emplace_back("none", none);
  test_.Open(db_options, families);
  const auto throttle = RocksDbThrottle::Attach(test_.db(), prepared, {.handles = {test_.handles()[0]}});
  ASSERT_TRUE(throttle.ok()) << throttle.status().message();
  EXPECT_NE(throttle.value()->AddFamily(test_.handles()[1]).message().find("has no compaction"), std::string::npos);
}

TEST_F(RocksDbThrottleTest, ANullDatabaseAndAnIntervalOfZeroAreErrors) {
  const PreparedRocksDb prepared = Open();
  EXPECT_NE(RocksDbThrottle::Attach(nullptr, prepared).status().message().find("null pointer"), std::string::npos);
  EXPECT_NE(RocksDbThrottle::Attach(nullptr, kTarget).status().message().find("null pointer"), std::string::npos);
  EXPECT_NE(RocksDbThrottle::Attach(test_.db(), 0).status().message().find("memory target is 0"), std::string::npos);
  RocksDbThrottleOptions options;
  for (const int milliseconds : {0, 9, 10'001}) {
    options.monitor.monitor.sample_interval = std::chrono::milliseconds(milliseconds);
    EXPECT_EQ(RocksDbThrottle::Attach(test_.db(), prepared, options).status().message(),
              "sample_interval is " + std::to_string(milliseconds) + ", not within 10..10000 (ms)");
  }
}

TEST_F(RocksDbThrottleTest, MovedBrakesNeedALimiterThatIsAlwaysThere) {
  const PreparedRocksDb moved = Open();
  for (const LimiterSettings& settings :
       {LimiterSettings{.enabled = false}, LimiterSettings{.on_sensor_loss = SensorLoss::kOpen}}) {
    const auto throttle = RocksDbThrottle::Attach(test_.db(), moved, {.limiter = settings});
    EXPECT_NE(throttle.status().message().find("EngineBrakes::kAsSet"), std::string::npos);
  }
  test_.Close();
  const PreparedRocksDb as_set = Open(EngineBrakes::kAsSet);
  EXPECT_TRUE(RocksDbThrottle::Attach(test_.db(), as_set, {.limiter = {.enabled = false}}).ok());
}

}  // namespace
}  // namespace weir
