// A monitor whose engine waits before it changes.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "monitors/load_monitor.h"
#include "tests/fixtures/eventually.h"

namespace weir {
namespace {

// Its changes wait until they may go on.
class WaitingProbe final : public LoadProbe {
 public:
  Status Probe(TimePoint, LoadSample*) override {
    ++probes;
    return Status();
  }
  Status Flush() override {
    ++flushes;
    goes_on.wait(false);
    return Status::Error("disk full");
  }
  bool MustAdjust() const override { return must_adjust; }
  void Adjust() override {
    must_adjust = false;
    ++adjusted;
  }

  std::atomic<int> probes{0};
  std::atomic<int> flushes{0};
  std::atomic<int> adjusted{0};
  std::atomic<bool> must_adjust{false};
  std::atomic<bool> goes_on{false};
};

class LoadMonitorChangeTest : public testing::Test {
 protected:
  void LetGo() {
    probe_.goes_on = true;
    probe_.goes_on.notify_all();
  }
  ~LoadMonitorChangeTest() override { LetGo(); }

  std::unique_ptr<WaitingProbe> owned_ = std::make_unique<WaitingProbe>();
  WaitingProbe& probe_ = *owned_;
  LoadMonitor monitor_{std::move(owned_), {.sample_interval = std::chrono::milliseconds(10)}};
};

TEST_F(LoadMonitorChangeTest, SamplesGoOnWhileAFlushWaits) {
  monitor_.Start();
  monitor_.ForceFlush();
  ASSERT_TRUE(Eventually([this] { return probe_.flushes == 1; }));
  const int before = probe_.probes;
  EXPECT_TRUE(Eventually([&] { return probe_.probes >= before + 3; }));
  EXPECT_TRUE(monitor_.LastError().ok());
  monitor_.ForceFlush();
  LetGo();
  EXPECT_TRUE(Eventually([this] { return probe_.flushes == 2; })) << "the second request was not lost";
  monitor_.Stop();
}

TEST_F(LoadMonitorChangeTest, AnAdjustmentIsMadeOnceForEachDemand) {
  monitor_.Start();
  for (int n = 1; n <= 3; ++n) {
    probe_.must_adjust = true;
    ASSERT_TRUE(Eventually([&] { return probe_.adjusted == n; }));
  }
  monitor_.Stop();
  probe_.must_adjust = true;
  ASSERT_TRUE(monitor_.SampleOnce().ok());
  EXPECT_EQ(probe_.adjusted, 4) << "SampleOnce makes it, too";
}

TEST_F(LoadMonitorChangeTest, AMonitorThatIsStartedAgainChangesTheEngineAgain) {
  LetGo();
  for (int n = 1; n <= 3; ++n) {
    monitor_.Start();
    monitor_.ForceFlush();
    ASSERT_TRUE(Eventually([&] { return probe_.flushes == n; }));
    monitor_.Stop();
  }
}

}  // namespace
}  // namespace weir
