// A monitor while the database under it changes: its options, its brakes, its end.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "config/manual_clock.h"
#include "monitors/rocksdb_monitor.h"
#include "rocksdb/utilities/stackable_db.h"
#include "tests/fixtures/own_process.h"
#include "tests/monitors/rocksdb_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class RocksDbLife : public testing::Test {
 protected:
  // Opens a database with prepared options.
  PreparedRocksDb Open(rocksdb::Options options = SmallEngine(), const std::vector<std::string>& more_families = {}) {
    given_ = options;
    std::vector<rocksdb::ColumnFamilyDescriptor> families{{rocksdb::kDefaultColumnFamilyName, options}};
    for (const std::string& name : more_families) families.emplace_back(name, options);
    Result<PreparedRocksDb> prepared = PrepareRocksDb(512 * kMiB, &options, &families);
    EXPECT_TRUE(prepared.ok()) << prepared.status().message();
    test_.Open(options, families);
    return prepared.value();
  }

  LoadSample Sense(LoadMonitor& monitor, Duration later = seconds(1)) {
    clock_.Advance(later);
    const Status status = monitor.SampleOnce();
    EXPECT_TRUE(status.ok()) << status.message();
    return monitor.Sample();
  }

  void Set(const std::string& option, const std::string& value) {
    ASSERT_TRUE(test_.db()->SetOptions({{option, value}}).ok());
  }
  rocksdb::Options Now(size_t family = 0) { return test_.db()->GetOptions(test_.handles()[family]); }
  uint64_t Property(const std::string& name) {
    uint64_t value = 0;
    EXPECT_TRUE(test_.db()->GetIntProperty(name, &value));
    return value;
  }

  ManualClock clock_{TimePoint{} + seconds(1000)};
  rocksdb::Options given_;
  TestDb test_;
};

std::array<uint64_t, 4> BrakesIn(const rocksdb::Options& o) {
  return {static_cast<uint64_t>(o.level0_slowdown_writes_trigger), static_cast<uint64_t>(o.level0_stop_writes_trigger),
          o.soft_pending_compaction_bytes_limit, o.hard_pending_compaction_bytes_limit};
}

TEST_F(RocksDbLife, BrakesAreGivenBackAndMovedAgain) {
  const PreparedRocksDb prepared = Open(SmallEngine(), {"other"});
  RocksDbMonitor monitor(test_.db(), test_.handles(), prepared, {}, clock_);
  EXPECT_EQ(Sense(monitor).Find("l0")->bytes_per_level, 12.0 * 2 * (256 << 10));
  const std::array moved = BrakesIn(Now());
  const int moved_buffers = Now().max_write_buffer_number;
  EXPECT_EQ(moved[0], 28u);
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(monitor.GiveBrakesBack().ok());
    for (size_t family : {0, 1}) {
      EXPECT_EQ(BrakesIn(Now(family)), BrakesIn(given_));
      EXPECT_EQ(Now(family).max_write_buffer_number, moved_buffers - 2) << "as many as merged flushes need";
    }
    EXPECT_EQ(Sense(monitor).Find("l0")->bytes_per_level, 8.0 * 2 * (256 << 10)) << "1.0 is where RocksDB brakes";
    ASSERT_TRUE(monitor.MoveBrakes().ok());
    for (size_t family : {0, 1}) {
      EXPECT_EQ(BrakesIn(Now(family)), moved);
      EXPECT_EQ(Now(family).max_write_buffer_number, moved_buffers);
    }
  }
}

// RocksDB itself replaces a negative slowdown trigger by the stop trigger.
TEST_F(RocksDbLife, DisabledBrakesStayDisabled) {
  rocksdb::Options options = SmallEngine();
  options.level0_slowdown_writes_trigger = -1;
  options.soft_pending_compaction_bytes_limit = options.hard_pending_compaction_bytes_limit = 0;
  const PreparedRocksDb prepared = Open(options);
  RocksDbMonitor monitor(test_.db(), {}, prepared, {}, clock_);
  ASSERT_TRUE(monitor.MoveBrakes().ok());
  ASSERT_TRUE(monitor.GiveBrakesBack().ok());
  EXPECT_EQ(BrakesIn(Now()), (std::array<uint64_t, 4>{20, 20, 0, 0}));
}

TEST_F(RocksDbLife, BrakesThatTheProgramSetsAreItsOwn) {
  const PreparedRocksDb prepared = Open();
  RocksDbMonitor monitor(test_.db(), {}, prepared, {}, clock_);
  ASSERT_TRUE(monitor.MoveBrakes().ok());
  Sense(monitor);
  Set("level0_slowdown_writes_trigger", "10");
  EXPECT_EQ(Sense(monitor).Find("l0")->bytes_per_level, 6.0 * 2 * (256 << 10));
  ASSERT_TRUE(monitor.GiveBrakesBack().ok());
  ASSERT_TRUE(monitor.MoveBrakes().ok());
  EXPECT_EQ(Now().level0_slowdown_writes_trigger, 10);
}

// A program may set a brake and end its throttle before the next sample.
TEST_F(RocksDbLife, ABrakeThatTheProgramHasJustSetStays) {
  const PreparedRocksDb prepared = Open();
  RocksDbMonitor monitor(test_.db(), {}, prepared, {}, clock_);
  ASSERT_TRUE(monitor.MoveBrakes().ok());
  Set("level0_slowdown_writes_trigger", "10");
  ASSERT_TRUE(monitor.GiveBrakesBack().ok());
  EXPECT_EQ(Now().level0_slowdown_writes_trigger, 10);
}

// A later PrepareRocksDb knows only the brakes that the first one set.
TEST_F(RocksDbLife, AnotherTriggerMovesTheBrakesNoFurther) {
  const PreparedRocksDb prepared = Open();
  const std::array moved = BrakesIn(Now());
  for (const char* trigger : {"2", "6"}) {
    RocksDbMonitor monitor(test_.db(), {}, prepared, {}, clock_);
    ASSERT_TRUE(monitor.MoveBrakes().ok());
    Set("level0_file_num_compaction_trigger", trigger);
    Sense(monitor);
    ASSERT_TRUE(monitor.GiveBrakesBack().ok());
    EXPECT_EQ(BrakesIn(Now()), BrakesIn(given_)) << trigger;
    ASSERT_TRUE(monitor.MoveBrakes().ok());
    EXPECT_EQ(BrakesIn(Now()), moved) << trigger;
    Set("level0_file_num_compaction_trigger", "4");
  }
}

// RocksDB would fail an assertion with a brake below the trigger.
TEST_F(RocksDbLife, NoBrakeIsGivenBackBelowTheTrigger) {
  const PreparedRocksDb prepared = Open();
  const std::array moved = BrakesIn(Now());
  RocksDbMonitor monitor(test_.db(), {}, prepared, {}, clock_);
  Set("level0_file_num_compaction_trigger", "24");
  ASSERT_TRUE(monitor.GiveBrakesBack().ok());
  EXPECT_EQ(Now().level0_slowdown_writes_trigger, 24);
  EXPECT_EQ(Now().level0_stop_writes_trigger, 24);
  test_.WriteFile();
  ASSERT_TRUE(monitor.MoveBrakes().ok());
  EXPECT_EQ(BrakesIn(Now()), moved);
}

TEST_F(RocksDbLife, BuffersThatTheProgramChangesAreNoticed) {
  const PreparedRocksDb prepared = Open();
  RocksDbMonitor monitor(test_.db(), {}, prepared, {}, clock_);
  EXPECT_EQ(Sense(monitor).write_burst_bytes, 128u << 10);
  Set("write_buffer_size", std::to_string(kMiB));
  EXPECT_EQ(Sense(monitor).write_burst_bytes, 512u << 10);
  EXPECT_EQ(Sense(monitor).Find("l0")->bytes_per_level, 12.0 * 2 * kMiB);
  Set("level0_file_num_compaction_trigger", "6");
  EXPECT_EQ(Sense(monitor).Find("l0")->bytes_per_level, 10.0 * 2 * kMiB) << "1.0 stays at 16 files";
}

// With automatic compactions enabled again, 45 files in L0 would stop writes at the moved brake (36 files), too.
TEST_F(RocksDbLife, ABulkLoadIsNotLimitedAndEndsWithoutAStall) {
  const PreparedRocksDb prepared = Open();
  RocksDbMonitor monitor(test_.db(), {}, prepared, {}, clock_);
  ASSERT_TRUE(monitor.MoveBrakes().ok());
  const std::array moved = BrakesIn(Now());
  Set("disable_auto_compactions", "true");
  Sense(monitor);
  for (int n = 0; n < 45; ++n) test_.WriteFile();
  const LoadSample loading = Sense(monitor);
  for (const char* name : {"l0", "debt"}) {
    EXPECT_EQ(loading.Find(name)->bytes_per_level, 0) << name << " limits nothing";
    EXPECT_EQ(loading.LevelOf(name), 0) << name;
  }
  ASSERT_TRUE(test_.db()->PauseBackgroundWork().ok());
  Set("disable_auto_compactions", "false");
  EXPECT_GT(Sense(monitor).LevelOf("l0"), 1) << "the backlog limits";
  EXPECT_EQ(Property("rocksdb.is-write-stopped"), 0u);
  EXPECT_EQ(Property("rocksdb.actual-delayed-write-rate"), 0u);
  ASSERT_TRUE(test_.db()->ContinueBackgroundWork().ok());
  std::string files;
  ASSERT_TRUE(Eventually(
      [&] { return test_.db()->GetProperty("rocksdb.num-files-at-level0", &files) && std::stoi(files) < 28; }));
  Sense(monitor);
  EXPECT_EQ(BrakesIn(Now()), moved) << "the backlog is gone";
  EXPECT_EQ(Sense(monitor).escapes, 0u);
}

TEST_F(RocksDbLife, ReadOnlyDatabasesAreNotWrittenTo) {
  rocksdb::Options options = SmallEngine();
  Open(options);
  test_.Close();
  const Result<PreparedRocksDb> prepared = PrepareRocksDb(512 * kMiB, &options);
  ASSERT_TRUE(prepared.ok());
  OpenedRocksDb opened{};
  ASSERT_TRUE(rocksdb::DB::OpenForReadOnly(options, test_.path(), &opened).ok());
  const std::unique_ptr<rocksdb::DB> db = OwnerOf(&opened);
  const auto names = [this] {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(test_.path())) found.insert(entry.path());
    return found;
  };
  const std::set<std::string> before = names();
  RocksDbMonitor monitor(db.get(), {}, prepared.value(), {}, clock_);
  EXPECT_TRUE(monitor.MoveBrakes().ok());
  EXPECT_TRUE(monitor.GiveBrakesBack().ok());
  EXPECT_EQ(names(), before);
}

TEST_F(RocksDbLife, AnEscapeIsToldOnceForEachEpisode) {
  std::vector<std::string> events;
  RocksDbMonitorSettings settings;
  settings.on_event = [&events](const std::string& event) { events.push_back(event); };
  const PreparedRocksDb prepared = Open();
  RocksDbMonitor monitor(test_.db(), {}, prepared, settings, clock_);
  ASSERT_TRUE(monitor.MoveBrakes().ok());
  Sense(monitor);
  const auto brake = [this] {
    ASSERT_TRUE(test_.db()->PauseBackgroundWork().ok());
    for (int i = 0; i < 400 && Property("rocksdb.actual-delayed-write-rate") == 0; ++i) test_.Write(8 << 10);
  };
  brake();
  for (int n = 0; n < 5; ++n) Sense(monitor);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_NE(events[0].find("RocksDB slows down writes by itself although they are limited, because of column family "
                           "default."),
            std::string::npos)
      << events[0];
  EXPECT_NE(events[0].find("RocksDB brakes at 100 %; now: memtables "), std::string::npos) << events[0];
  ASSERT_TRUE(test_.db()->ContinueBackgroundWork().ok());
  ASSERT_TRUE(Eventually([&] { return Property("rocksdb.actual-delayed-write-rate") == 0; }));
  Sense(monitor, seconds(11));
  brake();
  Sense(monitor);
  EXPECT_EQ(events.size(), 2u) << "a new episode";
  ASSERT_TRUE(test_.db()->ContinueBackgroundWork().ok());
  ASSERT_TRUE(Eventually([&] { return Property("rocksdb.actual-delayed-write-rate") == 0; }));
  ASSERT_TRUE(monitor.GiveBrakesBack().ok());
  Sense(monitor, seconds(11));
  brake();
  Sense(monitor);
  EXPECT_EQ(events.size(), 2u) << "RocksDB brakes as the program told it";
  ASSERT_TRUE(test_.db()->ContinueBackgroundWork().ok());
}

// Takes samples until one tells that the database is closed, as if the program went on after it closed the database.
void ExpectClosed(RocksDbMonitor& monitor) {
  for (int n = 0; n < 2; ++n) EXPECT_EQ(monitor.SampleOnce().message(), "database closed");
  EXPECT_FALSE(monitor.attached());
  monitor.ForceFlush();
  monitor.SetCacheShare(0.5);
  EXPECT_FALSE(monitor.SampleOnce().ok());
  EXPECT_TRUE(monitor.GiveBrakesBack().ok()) << "none is left to give back";
  EXPECT_EQ(monitor.MoveBrakes().message(), "database closed");
  monitor.Detach();
}

TEST(RocksDbCloseDeathTest, APreparedDatabaseMayBeClosedFirst) {
  for (const bool by_close : {false, true}) {
    ExpectReturnsInOwnProcess([by_close] {
      rocksdb::Options options = SmallEngine();
      const PreparedRocksDb prepared = PrepareRocksDb(512 * kMiB, &options).value();
      TestDb test;
      test.Open(options, {"other"});
      RocksDbMonitor monitor(test.db(), test.handles(), prepared);
      EXPECT_TRUE(monitor.SampleOnce().ok());
      if (by_close) {
        for (auto* handle : test.TakeHandles()) EXPECT_TRUE(test.db()->DestroyColumnFamilyHandle(handle).ok());
        EXPECT_TRUE(monitor.SampleOnce().ok()) << "the database is open";
        EXPECT_NE(monitor.Sample().Find("l0"), nullptr) << "the default family is watched to the end";
        EXPECT_TRUE(test.db()->Close().ok());
      } else {
        test.Close();
      }
      ExpectClosed(monitor);
    });
  }
}

// Its log, which the database alone owns, tells that it is gone.
TEST(RocksDbCloseDeathTest, AForeignDatabaseMayBeClosedBetweenSamples) {
  for (const bool by_close : {false, true}) {
    ExpectReturnsInOwnProcess([by_close] {
      TestDb test;
      test.Open(SmallEngine());
      RocksDbMonitor monitor(test.db(), {}, 512 * kMiB);
      EXPECT_TRUE(monitor.SampleOnce().ok());
      if (by_close) {
        for (auto* handle : test.TakeHandles()) EXPECT_TRUE(test.db()->DestroyColumnFamilyHandle(handle).ok());
        EXPECT_TRUE(test.db()->Close().ok());
      } else {
        test.Close();
      }
      ExpectClosed(monitor);
    });
  }
}

TEST(RocksDbCloseDeathTest, AWrapperMayBeDestroyedBeforeTheDatabase) {
  ExpectReturnsInOwnProcess([] {
    TestDb test;
    test.Open(SmallEngine());
    auto wrapper = std::make_unique<rocksdb::StackableDB>(std::shared_ptr<rocksdb::DB>(test.db(), [](rocksdb::DB*) {}));
    RocksDbMonitor monitor(wrapper.get(), {}, 512 * kMiB);
    wrapper.reset();
    EXPECT_TRUE(monitor.SampleOnce().ok());
    monitor.Detach();
  });
}

}  // namespace
}  // namespace weir
