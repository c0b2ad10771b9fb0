// RocksDbMonitorTest: a monitor of a real RocksDB, whose clock the test moves.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "config/manual_clock.h"
#include "monitors/rocksdb_monitor.h"
#include "tests/monitors/rocksdb_fixture.h"

namespace weir {

class RocksDbMonitorTest : public testing::Test {
 protected:
  static constexpr uint64_t kTarget = 4096 * kMiB;

  LoadSample Sense(LoadMonitor& monitor, Duration later = std::chrono::milliseconds(100)) {
    clock_.Advance(later);
    const Status status = monitor.SampleOnce();
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(monitor.LastError().ok()) << monitor.LastError().message();
    return monitor.Sample();
  }

  // With compactions switched off, L0 stays where the test puts it; `prepared` tells the monitor otherwise.
  static rocksdb::Options WithoutCompactions() {
    rocksdb::Options options = SmallEngine();
    options.disable_auto_compactions = true;
    return options;
  }
  static PreparedRocksDb WithGeometryOf(const rocksdb::Options& options, const std::vector<std::string>& names) {
    PreparedRocksDb prepared;
    prepared.target_bytes = kTarget;
    for (const std::string& name : names) prepared.geometry[name] = GeometryOf(options);
    return prepared;
  }

  // Leaves the background work paused. One more buffer would stop the writer, so it writes little at a time.
  void WriteUntilRocksDbBrakes() {
    ASSERT_TRUE(test_.db()->PauseBackgroundWork().ok());
    uint64_t delayed_rate = 0;
    for (int i = 0; i < 200 && delayed_rate == 0; ++i) {
      test_.Write(8 << 10);
      ASSERT_TRUE(test_.db()->GetIntProperty("rocksdb.actual-delayed-write-rate", &delayed_rate));
    }
    ASSERT_GT(delayed_rate, 0u);
  }

  ManualClock clock_{TimePoint{} + std::chrono::seconds(1000)};
  TestDb test_;
};

}  // namespace weir
