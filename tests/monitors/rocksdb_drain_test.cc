// The figures that a monitor of RocksDB learns from flushes and compactions: the drain, and the bytes on disk for each
// byte that the program writes.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "monitors/rocksdb_counters.h"
#include "monitors/rocksdb_listener.h"
#include "rocksdb/sst_file_writer.h"
#include "tests/monitors/rocksdb_monitor_fixture.h"

namespace weir {
namespace {

using std::chrono::seconds;
using RocksDbDrainTest = RocksDbMonitorTest;

// RocksDB does so by itself if several compactions may run and the level below is busy.
TEST_F(RocksDbDrainTest, FilesThatAreMergedWithinL0AreNoDrain) {
  test_.Open(WithoutCompactions());
  RocksDbMonitor monitor(test_.db(), {}, WithGeometryOf(SmallEngine(), {"default"}), {}, clock_);
  for (int files = 0; files < 8; ++files) {
    test_.Write(180 << 10);
    ASSERT_TRUE(test_.db()->Flush({}).ok());
    Sense(monitor, seconds(1));
  }
  const double before = Sense(monitor).Find("l0")->level;
  ASSERT_TRUE(test_.db()->CompactFiles({}, test_.Tables(), 0).ok());
  for (int samples = 0; samples < 20; ++samples) EXPECT_LE(Sense(monitor).Find("l0")->level, before) << samples;
  EXPECT_EQ(monitor.Details().l0_files, 1u);
  const double full_files = 8 * 180.0 / 256;
  EXPECT_NEAR(monitor.Sample().Find("l0")->level, (full_files - 4) / 8, 0.1);
}

// The meter is fed from RocksDB's counters, so its entries must match what really left L0. RocksDB may size its levels
// either way. Bytes that a compaction leaves in the level below L0 are owed twice. Bytes that moved on to a lower level
// in the same time, for example from a full base level, are not owed.
TEST_F(RocksDbDrainTest, TheDrainIsBytesCompactedFromL0PerBusySecond) {
  for (const bool dynamic_levels : {false, true}) {
    rocksdb::Options options = WithoutCompactions();
    options.level_compaction_dynamic_level_bytes = dynamic_levels;
    TestDb test;
    test.Open(options);
    RocksDbMonitor monitor(test.db(), {}, WithGeometryOf(SmallEngine(), {"default"}), {}, clock_);
    Sense(monitor);
    double drained_bytes = 0;
    for (int round = 0; round < 6; ++round) {
      for (int files = 0; files < 8; ++files) test.Write(250 << 10);
      ASSERT_TRUE(test.db()->Flush({}).ok());
      drained_bytes = ReadCounters(test.db(), test.handles()[0]).value().l0_bytes;
      // For the monitor eight or more files wait for 4 s; then all are compacted at once.
      for (int i = 0; i < 40; ++i) Sense(monitor);
      ASSERT_TRUE(test.db()->CompactRange({}, nullptr, nullptr).ok());
    }
    Sense(monitor);
    const double drain = Sense(monitor).Find("l0")->drain_bytes_per_second;
    const double left_bytes = dynamic_levels ? 0 : drained_bytes;
    const double owed_s = 2 * left_bytes / monitor.Details().background_bytes_per_second;
    EXPECT_NEAR(drain / (drained_bytes / (4 + owed_s)), 1.0, 0.15) << (dynamic_levels ? "dynamic" : "static");
    EXPECT_NEAR(monitor.Details().disk_per_user_byte, 1.0, 0.1);
  }
}

TEST_F(RocksDbDrainTest, CompressionIsSeenInTheRatio) {
  rocksdb::Options options = SmallEngine();
  options.compression = rocksdb::kSnappyCompression;
  test_.Open(options);
  RocksDbMonitor monitor(test_.db(), {}, kTarget, {}, clock_);
  Sense(monitor);
  const std::string value(1000, 'x');
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 250; ++i) ASSERT_TRUE(test_.db()->Put({}, std::to_string(round * 1000 + i), value).ok());
    ASSERT_TRUE(test_.db()->Flush({}).ok());
    Sense(monitor, seconds(1));
  }
  EXPECT_LT(monitor.Details().disk_per_user_byte, 0.3);
}

TEST_F(RocksDbDrainTest, AFamilyThatTakesAPartOfTheDataRisesByAsMuchLess) {
  test_.Open(WithoutCompactions(), {"other"});
  RocksDbMonitor monitor(test_.db(), test_.handles(), WithGeometryOf(SmallEngine(), {"default", "other"}), {}, clock_);
  const double alone = Sense(monitor).Find("l0")->bytes_per_level;
  for (int round = 0; round < 39; ++round) {
    test_.Write(192 << 10, 0);
    test_.Write(64 << 10, 1);
    ASSERT_TRUE(test_.db()->Flush({}, test_.handles()[0]).ok());
    const bool full = round % 3 == 2;
    ASSERT_TRUE(!full || test_.db()->Flush({}, test_.handles()[1]).ok());
    Sense(monitor, seconds(1));
  }
  // The first family has the most files in L0, so the level is that family's.
  EXPECT_NEAR(Sense(monitor).Find("l0")->bytes_per_level / alone, 192.0 / 256 * 4 / 3, 0.07);
}

TEST_F(RocksDbDrainTest, FamiliesThatAreFlushedInStepFillL0TogetherWithTheirFiles) {
  test_.Open(WithoutCompactions(), {"other"});
  RocksDbMonitor monitor(test_.db(), test_.handles(), WithGeometryOf(SmallEngine(), {"default", "other"}), {}, clock_);
  const double full = Sense(monitor).Find("l0")->bytes_per_level;
  for (int round = 0; round < 40; ++round) {
    test_.Write(96 << 10, 0);
    test_.Write(32 << 10, 1);
    for (rocksdb::ColumnFamilyHandle* family : test_.handles()) ASSERT_TRUE(test_.db()->Flush({}, family).ok());
    Sense(monitor, seconds(1));
  }
  EXPECT_NEAR(Sense(monitor).Find("l0")->bytes_per_level / full, 128.0 / 256, 0.05) << "of each 128 KiB comes a file";
}

TEST_F(RocksDbDrainTest, TheFlushOfAFewBytesSaysNothingAboutTheSpeed) {
  test_.Open(WithoutCompactions());
  test_.WriteFile();
  RocksDbMonitor monitor(test_.db(), {}, kTarget, {}, clock_);
  Sense(monitor);
  const double assumed = monitor.Details().flush_bytes_per_second;
  for (int files = 0; files < 10; ++files) test_.WriteFile();
  RocksDbMonitor later(test_.db(), {}, kTarget, {}, clock_);
  Sense(later);
  EXPECT_EQ(assumed, 48e6);
  EXPECT_NE(later.Details().flush_bytes_per_second, assumed) << "more than a write buffer was flushed";
}

TEST_F(RocksDbDrainTest, IngestedFilesAreNotTakenForFlushes) {
  rocksdb::Options options = WithoutCompactions();
  options.listeners = {std::make_shared<RocksDbListener>()};
  test_.Open(options);
  RocksDbMonitor monitor(test_.db(), {}, WithGeometryOf(SmallEngine(), {"default"}), {}, clock_);
  const double full = Sense(monitor).Find("l0")->bytes_per_level;
  for (int round = 0; round < 30; ++round) {
    test_.WriteFile();
    const std::string file = test_.path() + "/ingested" + std::to_string(round);
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options);
    ASSERT_TRUE(writer.Open(file).ok());
    ASSERT_TRUE(writer.Put("0", "first").ok());
    ASSERT_TRUE(writer.Put("5", std::string(96 << 10, 'x')).ok());
    ASSERT_TRUE(writer.Put("99", "last").ok());
    ASSERT_TRUE(writer.Finish().ok());
    ASSERT_TRUE(test_.db()->IngestExternalFile({file}, {}).ok());
    Sense(monitor, seconds(1));
  }
  EXPECT_NEAR(monitor.Details().disk_per_user_byte, 1.0, 0.1);
  EXPECT_NEAR(Sense(monitor).Find("l0")->bytes_per_level / full, 64.0 / 256, 0.03) << "32 and 96 KiB come in turns";
}

// Otherwise a flush of 24 MiB/s would look only as fast as its small part in tables, and the limit would be a few
// hundred KB/s.
TEST_F(RocksDbDrainTest, ValuesInBlobFilesAreFlushedToo) {
  rocksdb::Options options = SmallEngine();
  options.enable_blob_files = true;
  test_.Open(options);
  RocksDbMonitor monitor(test_.db(), {}, kTarget, {}, clock_);
  Sense(monitor);
  for (int round = 0; round < 40; ++round) {
    test_.Write(250 << 10);
    ASSERT_TRUE(test_.db()->Flush({}).ok());
    Sense(monitor, seconds(1));
  }
  EXPECT_NEAR(monitor.Details().disk_per_user_byte, 1.0, 0.1);
}

}  // namespace
}  // namespace weir
