// Memtables that together fill a WriteBufferManager, which then stops all writers.
#include "monitors/rocksdb_buffers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "config/manual_clock.h"
#include "monitors/rocksdb_monitor.h"
#include "rocksdb/listener.h"
#include "tests/monitors/rocksdb_fixture.h"

namespace weir {
namespace {

using Manager = rocksdb::WriteBufferManager;

constexpr uint64_t kManager = 12 * kMiB;

std::shared_ptr<Manager> ManagerThatStops(uint64_t bytes = kManager) {
  return std::make_shared<Manager>(bytes, nullptr, true);
}

TEST(StopsWriters, AsksTheManagerAndLeavesNoTrace) {
  EXPECT_FALSE(StopsWriters(nullptr));
  for (const bool stops : {false, true}) {
    Manager unlimited(0, nullptr, stops);
    EXPECT_FALSE(StopsWriters(&unlimited));
    for (const uint64_t used : {0ull, 5ull, 200ull}) {
      Manager manager(100, nullptr, stops);
      manager.ReserveMem(used);
      EXPECT_EQ(StopsWriters(&manager), stops);
      EXPECT_EQ(manager.buffer_size(), 100u);
      EXPECT_EQ(manager.memory_usage(), used);
      EXPECT_EQ(manager.mutable_memtable_memory_usage(), used);
      EXPECT_FALSE(manager.IsStallActive());
    }
  }
}

TEST(StopsWriters, DoesNotEmptyTheCacheThatTheManagerCharges) {
  const auto cache = rocksdb::NewLRUCache(64 * kMiB);
  Manager manager(32 * kMiB, cache, true);
  EXPECT_TRUE(StopsWriters(&manager));
  EXPECT_LE(cache->GetPinnedUsage(), kMiB);
}

TEST(RocksDbBuffers, AManagerThatStopsNoWriterIsLeftAlone) {
  const auto manager = std::make_shared<Manager>(100);
  manager->ReserveMem(200);
  RocksDbBuffers buffers(manager);
  EXPECT_FALSE(buffers.stops_writers());
  buffers.MakeRoom(200);
  EXPECT_TRUE(buffers.WithoutLimit([&] { return manager->buffer_size() == 100 ? Status() : Status::Error("x"); }).ok());
  buffers.GiveBack();
  EXPECT_EQ(manager->buffer_size(), 100u);
  RocksDbBuffers none(nullptr);
  EXPECT_FALSE(none.stops_writers());
  EXPECT_TRUE(none.WithoutLimit([] { return Status(); }).ok());
}

// A writer of a database that stands.
class Standing final : public rocksdb::StallInterface {
 public:
  void Block() override {}
  void Signal() override { goes_on = true; }
  bool goes_on = false;
};

TEST(RocksDbBuffers, CountsEachStopOnce) {
  const auto manager = ManagerThatStops(100);
  RocksDbBuffers buffers(manager);
  EXPECT_FALSE(buffers.Read().stopped);
  for (uint64_t stop = 1; stop <= 3; ++stop) {
    manager->ReserveMem(100);
    Standing writer;
    manager->BeginWriteStall(&writer);
    EXPECT_TRUE(buffers.Read().stopped);
    EXPECT_TRUE(buffers.Read().stopped);
    EXPECT_EQ(buffers.stops(), stop);
    manager->ScheduleFreeMem(100);
    manager->FreeMem(100);
    EXPECT_TRUE(writer.goes_on);
    EXPECT_FALSE(buffers.Read().stopped);
  }
}

TEST(RocksDbBuffers, WritersGoOnDuringAFlushThatIsWithoutLimit) {
  const auto manager = ManagerThatStops(100);
  RocksDbBuffers buffers(manager);
  manager->ReserveMem(100);
  Standing writer;
  manager->BeginWriteStall(&writer);
  EXPECT_EQ(buffers.WithoutLimit([&] { return Status::Error(writer.goes_on ? "goes on" : "stands"); }).message(),
            "goes on");
  EXPECT_EQ(manager->buffer_size(), 100u);
}

TEST(RocksDbBuffers, AFlushThatThrowsLeavesTheLimit) {
  const auto manager = ManagerThatStops(100);
  RocksDbBuffers buffers(manager);
  EXPECT_THROW((void)buffers.WithoutLimit([]() -> Status { throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_EQ(manager->buffer_size(), 100u);
}

// RocksDB itself flushes what is being filled if that is at least half of the limit.
TEST(RocksDbBuffers, MemoryThatNoFlushFreesComesOnTopIfItTakesHalf) {
  const std::pair<uint64_t, uint64_t> cases[] = {{0, 100}, {50, 100}, {51, 151}, {100, 200}, {300, 400}};
  for (const auto& [kept, limit] : cases) {
    const auto manager = ManagerThatStops(100);
    RocksDbBuffers buffers(manager);
    manager->ReserveMem(kept);
    buffers.MakeRoom(kept);
    EXPECT_EQ(manager->buffer_size(), limit) << kept;
    EXPECT_EQ(buffers.Read().limit_bytes, limit) << kept;
    EXPECT_EQ(buffers.is_raised(), limit > 100) << kept;
    EXPECT_TRUE(buffers.WithoutLimit([] { return Status(); }).ok());
    EXPECT_EQ(manager->buffer_size(), limit) << kept;
    buffers.GiveBack();
    EXPECT_EQ(manager->buffer_size(), 100u) << kept;
  }
}

TEST(RocksDbBuffers, ARaisedLimitFallsAsTheMemoryIsFreed) {
  const auto manager = ManagerThatStops(100);
  RocksDbBuffers buffers(manager);
  manager->ReserveMem(140);
  buffers.MakeRoom(80);
  ASSERT_EQ(manager->buffer_size(), 180u);
  buffers.MakeRoom(50);
  EXPECT_EQ(manager->buffer_size(), 160u) << "writers do not stand";
  manager->ScheduleFreeMem(56);
  manager->FreeMem(56);
  buffers.MakeRoom(50);
  EXPECT_EQ(manager->buffer_size(), 100u);
  EXPECT_FALSE(buffers.is_raised());
}

TEST(RocksDbBuffers, ALimitThatTheProgramSetsIsTheProgramsOwn) {
  const auto manager = ManagerThatStops(100);
  RocksDbBuffers buffers(manager);
  manager->ReserveMem(200);
  buffers.MakeRoom(200);
  ASSERT_EQ(manager->buffer_size(), 300u);
  manager->SetBufferSize(1000);
  EXPECT_EQ(buffers.Read().limit_bytes, 1000u);
  buffers.GiveBack();
  EXPECT_EQ(manager->buffer_size(), 1000u);
  EXPECT_TRUE(buffers
                  .WithoutLimit([&] {
                    manager->SetBufferSize(500);
                    return Status();
                  })
                  .ok());
  EXPECT_EQ(manager->buffer_size(), 500u);
}

TEST(RocksDbBuffers, TwoThatShareAManagerLeaveItsLimit) {
  const auto manager = ManagerThatStops(100);
  RocksDbBuffers one(manager);
  RocksDbBuffers other(manager);
  (void)other.Read();
  EXPECT_TRUE(one.WithoutLimit([&] {
                   EXPECT_TRUE(StopsWriters(manager.get()));
                   Status flushed = other.WithoutLimit([] { return Status(); });
                   EXPECT_GT(manager->buffer_size(), 1000u) << "the other flush still runs";
                   EXPECT_EQ(other.Read().limit_bytes, 100u);
                   return flushed;
                 })
                  .ok());
  EXPECT_EQ(manager->buffer_size(), 100u);
}

TEST(RocksDbBuffers, WhatTwoKeepComesOnTopOfTheLimitOfTheProgram) {
  const auto manager = ManagerThatStops(100);
  RocksDbBuffers one(manager);
  RocksDbBuffers other(manager);
  manager->ReserveMem(100);
  one.MakeRoom(40);
  EXPECT_EQ(manager->buffer_size(), 100u);
  other.MakeRoom(45);
  EXPECT_EQ(manager->buffer_size(), 185u);
  EXPECT_TRUE(one.is_raised());
  one.MakeRoom(60);
  EXPECT_EQ(manager->buffer_size(), 205u);
  one.GiveBack();
  other.MakeRoom(45);
  manager->ScheduleFreeMem(55);
  manager->FreeMem(55);
  other.MakeRoom(45);
  EXPECT_EQ(manager->buffer_size(), 100u);
}

// A limit of 0 is none.
TEST(RocksDbBuffers, AProgramMayTakeTheLimitOff) {
  const auto manager = ManagerThatStops(100);
  RocksDbBuffers buffers(manager);
  manager->SetBufferSize(0);
  EXPECT_EQ(buffers.Read().limit_bytes, 0u);
  buffers.MakeRoom(70);
  EXPECT_TRUE(buffers.WithoutLimit([] { return Status(); }).ok());
  EXPECT_EQ(manager->buffer_size(), 0u);
  manager->SetBufferSize(200);
  EXPECT_EQ(buffers.Read().limit_bytes, 200u);
}

// Eight families share a manager of 12 MiB. A thread writes to them as fast as it can, without asking a throttle.
class RocksDbBuffersTest : public testing::Test {
 protected:
  static constexpr size_t kFamilies = 8;

  ~RocksDbBuffersTest() override {
    manager_->SetBufferSize(1024 * kMiB);  // the writer must not stand for ever if a test fails
    if (writer_.joinable()) writer_.join();
  }

  rocksdb::Options Engine() {
    rocksdb::Options options = SmallEngine();
    options.write_buffer_size = 4 * kMiB;
    options.disable_auto_compactions = true;
    options.write_buffer_manager = manager_;
    return options;
  }
  void Open(const rocksdb::Options& options) {
    std::vector<std::string> names;
    for (size_t i = 1; i < kFamilies; ++i) names.push_back("family" + std::to_string(i));
    test_.Open(options, names);
  }
  // Fills one family after another, each with this many bytes, as often as `rounds` says.
  void WriteInAThread(uint64_t bytes_each, int rounds) {
    writer_ = std::thread([this, bytes_each, rounds] {
      const std::string value(16 << 10, 'v');
      for (int round = 0; round < rounds; ++round)
        for (auto* handle : test_.handles())
          for (uint64_t i = 0; i < bytes_each / value.size(); ++i)
            (void)test_.db()->Put({}, handle, std::to_string(round) + "/" + std::to_string(i), value);
      done_ = true;
    });
  }
  LoadSample Sense(LoadMonitor& monitor) {
    clock_.Advance(std::chrono::milliseconds(100));
    EXPECT_TRUE(monitor.SampleOnce().ok());
    return monitor.Sample();
  }
  bool AwaitStop(RocksDbMonitor& monitor) {
    return Eventually([&] { return Sense(monitor).LevelOf("buffers") >= 1 && monitor.Details().writes_stopped; });
  }
  // Asks for a flush at each sample that finds the manager full, as the throttle does each second.
  bool RelieveUntilDone(RocksDbMonitor& monitor) {
    return Eventually([&] {
      if (Sense(monitor).LevelOf("buffers") >= 1) monitor.FlushLargest();
      return done_.load();
    });
  }
  // Asks for flushes of the largest until this family has a file.
  bool FlushedEventually(RocksDbMonitor& monitor, size_t family) {
    return Eventually([&] {
      monitor.FlushLargest();
      Sense(monitor);
      std::string files;
      return test_.db()->GetProperty(test_.handles()[family], "rocksdb.num-files-at-level0", &files) && files == "1";
    });
  }

  const std::shared_ptr<Manager> manager_ = ManagerThatStops();
  ManualClock clock_;
  TestDb test_;
  std::atomic<bool> done_{false};
  std::thread writer_;
};

TEST_F(RocksDbBuffersTest, TheSignalRisesWithAllMemtablesTogether) {
  Open(Engine());
  RocksDbMonitor monitor(test_.db(), test_.handles(), 4096 * kMiB, {}, clock_);
  const LoadSample before = Sense(monitor);
  ASSERT_NE(before.Find("buffers"), nullptr);
  EXPECT_EQ(before.LevelOf("buffers"), 0);
  EXPECT_EQ(before.Find("buffers")->bytes_per_level, static_cast<double>(kManager) / 4);
  EXPECT_LE(before.write_burst_bytes, kManager / 16);
  const uint64_t reserved = kManager * 7 / 8 - manager_->memory_usage();
  manager_->ReserveMem(reserved);
  EXPECT_EQ(Sense(monitor).LevelOf("buffers"), 0) << "all of it is being filled";
  manager_->ScheduleFreeMem(reserved);
  EXPECT_GE(Sense(monitor).LevelOf("buffers"), 0.5);
  EXPECT_LT(monitor.Sample().LevelOf("memtables"), 0.01) << "no family alone has a backlog";
  EXPECT_EQ(monitor.Details().buffer_limit_bytes, kManager);
}

TEST_F(RocksDbBuffersTest, AManagerThatOnlyFlushesIsNoSignal) {
  rocksdb::Options options = Engine();
  options.write_buffer_manager = std::make_shared<Manager>(kManager);
  Open(options);
  RocksDbMonitor monitor(test_.db(), test_.handles(), 4096 * kMiB, {}, clock_);
  EXPECT_EQ(Sense(monitor).Find("buffers"), nullptr);
  EXPECT_GT(Sense(monitor).write_burst_bytes, kManager / 16);
}

// Full memtables that wait for another one are not flushed, and no writer comes that would fill it: RocksDB alone
// stands for ever.
TEST_F(RocksDbBuffersTest, AStopIsSensedAndAFlushOfTheLargestEndsIt) {
  rocksdb::Options options = Engine();
  options.min_write_buffer_number_to_merge = 2;
  Open(options);
  RocksDbMonitor monitor(test_.db(), test_.handles(), 4096 * kMiB, {}, clock_);
  WriteInAThread(5 * kMiB, 1);
  ASSERT_TRUE(AwaitStop(monitor));
  EXPECT_EQ(monitor.Sample().escapes, 1u);
  EXPECT_EQ(monitor.Details().stall_causes.at("write_buffer_manager"), 1u);
  EXPECT_GE(monitor.Details().buffer_bytes, kManager);
  EXPECT_FALSE(done_);
  EXPECT_TRUE(RelieveUntilDone(monitor));
  EXPECT_EQ(manager_->buffer_size(), kManager);
}

// A flush of all families, as the throttle asks for while memory is short, must not stand behind the writers.
TEST_F(RocksDbBuffersTest, AFlushOfAllEndsAStopToo) {
  rocksdb::Options options = Engine();
  options.min_write_buffer_number_to_merge = 2;
  Open(options);
  RocksDbMonitor monitor(test_.db(), test_.handles(), 4096 * kMiB, {}, clock_);
  WriteInAThread(5 * kMiB, 1);
  ASSERT_TRUE(AwaitStop(monitor));
  EXPECT_TRUE(Eventually([&] {
    monitor.ForceFlush();
    (void)Sense(monitor);
    return done_.load();
  }));
}

// RocksDB starts this flush only when seven eighths of the manager are being filled.
TEST_F(RocksDbBuffersTest, WhereBrakesAreMovedTheLargestIsFlushedEarly) {
  for (const EngineBrakes brakes : {EngineBrakes::kAsSet, EngineBrakes::kMoved}) {
    rocksdb::Options options = Engine();
    const auto prepared = PrepareRocksDb(1400 * kMiB, &options, {.brakes = brakes});
    ASSERT_TRUE(prepared.ok()) << prepared.status().message();
    TestDb db;
    db.Open(options);
    RocksDbMonitor monitor(db.db(), {}, prepared.value(), {}, clock_);
    db.Write(3 * kMiB);
    const uint64_t others = kManager * 33 / 40 - manager_->mutable_memtable_memory_usage();
    manager_->ReserveMem(others);
    EXPECT_EQ(Sense(monitor).flush_due, brakes == EngineBrakes::kMoved);
    EXPECT_TRUE(monitor.LastError().ok()) << monitor.LastError().message();
    if (brakes == EngineBrakes::kMoved) db.AwaitFileInL0(0);
    EXPECT_FALSE(brakes == EngineBrakes::kMoved && Sense(monitor).flush_due) << "the next one is not due";
    manager_->ScheduleFreeMem(others);
    manager_->FreeMem(others);
  }
}

// The history that transactions keep stays in memory after a flush.
TEST_F(RocksDbBuffersTest, HistoryThatFillsTheManagerComesOnTop) {
  rocksdb::Options options = Engine();
  options.max_write_buffer_size_to_maintain = 8 * kMiB;
  Open(options);
  RocksDbMonitor monitor(test_.db(), test_.handles(), 4096 * kMiB, {}, clock_);
  WriteInAThread(5 * kMiB, 2);
  ASSERT_TRUE(AwaitStop(monitor));
  EXPECT_TRUE(RelieveUntilDone(monitor));
  EXPECT_GT(monitor.Details().buffer_limit_bytes, kManager);
  monitor.Detach();
  EXPECT_EQ(manager_->buffer_size(), kManager);
}

// Only this database's own memory says what no flush frees: another database of the manager flushes its own.
TEST_F(RocksDbBuffersTest, MemoryOfAnotherDatabaseIsNotKept) {
  Open(Engine());
  RocksDbMonitor monitor(test_.db(), test_.handles(), 4096 * kMiB, {}, clock_);
  manager_->ReserveMem(kManager);
  for (int i = 0; i < 3; ++i) {
    monitor.FlushLargest();
    Sense(monitor);
    EXPECT_EQ(manager_->buffer_size(), kManager);
  }
  manager_->ScheduleFreeMem(kManager);
  manager_->FreeMem(kManager);
}

TEST_F(RocksDbBuffersTest, AProgramThatTakesTheLimitOffIsNotLimited) {
  Open(Engine());
  RocksDbMonitor monitor(test_.db(), test_.handles(), 4096 * kMiB, {}, clock_);
  const uint64_t burst = Sense(monitor).write_burst_bytes;
  manager_->SetBufferSize(0);
  EXPECT_EQ(Sense(monitor).LevelOf("buffers"), 0);
  EXPECT_GT(Sense(monitor).write_burst_bytes, burst);
  manager_->SetBufferSize(kManager);
  EXPECT_NE(Sense(monitor).Find("buffers"), nullptr);
}

TEST_F(RocksDbBuffersTest, AMonitorWithoutFamiliesHasNoSignal) {
  Open(Engine());
  RocksDbMonitor monitor(test_.db(), {test_.handles()[1]}, 4096 * kMiB, {}, clock_);
  ASSERT_TRUE(monitor.RemoveFamily(test_.handles()[1]).ok());
  EXPECT_EQ(Sense(monitor).Find("buffers"), nullptr);
}

TEST_F(RocksDbBuffersTest, OtherBufferSizesAreNoOtherDrain) {
  rocksdb::Options options = Engine();
  options.min_write_buffer_number_to_merge = 2;
  Open(options);
  RocksDbMonitor monitor(test_.db(), test_.handles(), 4096 * kMiB, {}, clock_);
  test_.Write(5 * kMiB);
  const double drain = Sense(monitor).Find("buffers")->drain_bytes_per_second;
  ASSERT_GT(monitor.Details().immutable_memtables, 0u);
  ASSERT_TRUE(test_.db()->SetOptions(test_.handles()[0], {{"write_buffer_size", "67108864"}}).ok());
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_GT(Sense(monitor).Find("buffers")->drain_bytes_per_second, drain / 10);
}

// Flushes wait until the test releases them.
class SlowFlushes final : public rocksdb::EventListener {
 public:
  void OnFlushBegin(rocksdb::DB* /*db*/, const rocksdb::FlushJobInfo& /*info*/) override {
    runs_ = true;
    (void)Eventually([this] { return released_.load(); });
  }
  bool runs() const { return runs_; }
  void Release() { released_ = true; }

 private:
  std::atomic<bool> runs_{false};
  std::atomic<bool> released_{false};
};

// Each request would let all writers pass that stand, so a slow flush would make memory grow for as long as it runs.
TEST_F(RocksDbBuffersTest, WhileAFlushRunsNoOtherIsStarted) {
  const auto slow = std::make_shared<SlowFlushes>();
  rocksdb::Options options = Engine();
  options.listeners.push_back(slow);
  Open(options);
  RocksDbMonitor monitor(test_.db(), test_.handles(), 4096 * kMiB, {}, clock_);
  test_.Write(kMiB, 0);
  test_.Write(2 * kMiB, 1);
  rocksdb::FlushOptions at_once;
  at_once.wait = false;
  ASSERT_TRUE(test_.db()->Flush(at_once, test_.handles()[0]).ok());
  EXPECT_TRUE(Eventually([&] { return slow->runs(); }));
  monitor.FlushLargest();
  Sense(monitor);
  Sense(monitor);
  EXPECT_EQ(monitor.Details().immutable_memtables, 1u);
  slow->Release();
  test_.AwaitFileInL0(0);
  EXPECT_TRUE(FlushedEventually(monitor, 1));
}

// RocksDB accepts the flush of a dropped family, but does not do it.
TEST_F(RocksDbBuffersTest, ADroppedFamilyKeepsNoOtherFromBeingFlushed) {
  Open(Engine());
  RocksDbMonitor monitor(test_.db(), test_.handles(), 4096 * kMiB, {}, clock_);
  test_.Write(kMiB, 1);
  test_.Write(3 * kMiB, 2);
  ASSERT_TRUE(test_.db()->DropColumnFamily(test_.handles()[2]).ok());
  EXPECT_TRUE(FlushedEventually(monitor, 1));
}

TEST_F(RocksDbBuffersTest, FamiliesThatMustBeFlushedTogetherAre) {
  rocksdb::Options options = Engine();
  options.atomic_flush = true;
  Open(options);
  RocksDbMonitor monitor(test_.db(), test_.handles(), 4096 * kMiB, {}, clock_);
  test_.Write(100 << 10, 1);
  test_.Write(3 * kMiB, 2);
  monitor.FlushLargest();
  Sense(monitor);
  test_.AwaitFileInL0(1);
  test_.AwaitFileInL0(2);
}

Result<PreparedRocksDb> PrepareEight(rocksdb::ColumnFamilyOptions family, std::shared_ptr<Manager> manager,
                                     std::vector<rocksdb::ColumnFamilyDescriptor>* families) {
  rocksdb::DBOptions options;
  options.write_buffer_manager = std::move(manager);
  family.write_buffer_size = 4 * kMiB;
  for (int i = 0; i < 8; ++i) families->emplace_back("family" + std::to_string(i), family);
  return PrepareRocksDb(1400 * kMiB, &options, families);
}

TEST(PrepareRocksDbForAManager, MergesNoFlushesThatDoNotFit) {
  rocksdb::ColumnFamilyOptions family = SmallEngine();
  family.max_bytes_for_level_base = 32 * kMiB;
  const std::pair<std::shared_ptr<Manager>, int> cases[] = {{nullptr, 2},
                                                            {std::make_shared<Manager>(kManager), 2},
                                                            {ManagerThatStops(), 1},
                                                            {ManagerThatStops(256 * kMiB), 2}};
  for (const auto& [manager, merged] : cases) {
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    const auto prepared = PrepareEight(family, manager, &families);
    ASSERT_TRUE(prepared.ok()) << prepared.status().message();
    EXPECT_EQ(families[3].options.min_write_buffer_number_to_merge, merged);
    EXPECT_EQ(prepared.value().geometry.at("family3").buffers_per_flush, merged);
    EXPECT_EQ(families[3].options.level0_slowdown_writes_trigger, 28) << "the brakes are moved all the same";
    EXPECT_EQ(families[3].options.arena_block_size, manager == nullptr || merged == 2 ? 0u : 96u << 10);
  }
}

// LoadLatestOptions loads the size that RocksDB chose by itself.
TEST(PrepareRocksDbForAManager, MakesBlocksSmallerThatTheProgramDidNotSet) {
  const std::pair<size_t, size_t> cases[] = {{0, 96 << 10}, {512 << 10, 96 << 10}, {256 << 10, 256 << 10}};
  for (const auto& [given, prepared] : cases) {
    rocksdb::ColumnFamilyOptions family = SmallEngine();
    family.arena_block_size = given;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    ASSERT_TRUE(PrepareEight(family, ManagerThatStops(), &families).ok());
    EXPECT_EQ(families[3].options.arena_block_size, prepared) << given;
  }
}

TEST(PrepareRocksDbForAManager, SaysWhichHistoryDoesNotFit) {
  rocksdb::ColumnFamilyOptions family = SmallEngine();
  for (const int64_t history : {int64_t{-1}, int64_t{4 * kMiB}}) {
    family.max_write_buffer_size_to_maintain = history;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    const Status refused = PrepareEight(family, ManagerThatStops(), &families).status();
    EXPECT_NE(refused.message().find("their WriteBufferManager of 12 MiB stops all writers"), std::string::npos)
        << refused.message();
    EXPECT_EQ(families[3].options.level0_slowdown_writes_trigger, 12) << "unchanged";
    EXPECT_TRUE(PrepareEight(family, std::make_shared<Manager>(kManager), &families).ok());
  }
}

}  // namespace
}  // namespace weir
