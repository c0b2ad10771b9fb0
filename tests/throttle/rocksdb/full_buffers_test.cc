// A limiter beside writers that do not ask it, and that fill a WriteBufferManager which then stops them.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "config/manual_clock.h"
#include "monitors/rocksdb_monitor.h"
#include "tests/monitors/rocksdb_fixture.h"
#include "throttle/adaptive_limiter.h"

namespace weir {
namespace {

class FullBuffersTest : public testing::Test {
 protected:
  ~FullBuffersTest() override {
    manager_->SetBufferSize(1024 * kMiB);  // the writer must not stand for ever if a test fails
    if (writer_.joinable()) writer_.join();
  }

  // Full memtables wait for a second one, so RocksDB alone stops writers and then flushes nothing.
  void Open() {
    rocksdb::Options options = SmallEngine();
    options.write_buffer_size = 4 * kMiB;
    options.min_write_buffer_number_to_merge = 2;
    options.write_buffer_manager = manager_;
    test_.Open(options, {"b", "c", "d", "e", "f", "g", "h"});
  }

  void WriteWithoutAsking() {
    writer_ = std::thread([this] {
      const std::string value(16 << 10, 'v');
      for (auto* handle : test_.handles())
        for (int i = 0; i < 320; ++i) (void)test_.db()->Put({}, handle, std::to_string(i), value);
      done_ = true;
    });
  }

  const std::shared_ptr<rocksdb::WriteBufferManager> manager_ =
      std::make_shared<rocksdb::WriteBufferManager>(12 * kMiB, nullptr, true);
  ManualClock clock_;
  TestDb test_;
  std::atomic<bool> done_{false};
  std::thread writer_;
};

TEST_F(FullBuffersTest, AStopIsNamedInItsTickAndEndsByTheRelief) {
  Open();
  RocksDbMonitor monitor(test_.db(), test_.handles(), 4096 * kMiB, {}, clock_);
  AdaptiveLimiter limiter(monitor);
  WriteWithoutAsking();
  int stops = 0;
  EXPECT_TRUE(Eventually([&] {
    clock_.Advance(std::chrono::milliseconds(100));
    EXPECT_TRUE(monitor.SampleOnce().ok());
    limiter.Tick();
    const LimiterView view = limiter.View();
    if (view.sample.LevelOf("buffers") >= 1) {
      ++stops;
      EXPECT_EQ(view.writes[WorkClass::kInteractive].reason, "buffers");
      EXPECT_EQ(view.writes[WorkClass::kBulk].reason, "buffers");
    }
    return done_.load();
  }));
  EXPECT_GT(stops, 0);
  EXPECT_GE(monitor.Sample().escapes, 1u);
}

}  // namespace
}  // namespace weir
