#include "monitors/load_monitor.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <limits>
#include <mutex>
#include <stdexcept>

#include "config/manual_clock.h"
#include "config/settings.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Does what the test says, and lets it wait until that was done.
class ScriptedMonitor final : public LoadMonitor {
 public:
  using Script = std::function<Status(LoadSample*)>;

  explicit ScriptedMonitor(Script script, MonitorSettings settings = {}, const Clock& clock = Clock::System())
      : LoadMonitor(settings, clock), script_(std::move(script)) {}
  ~ScriptedMonitor() override { Stop(); }

  void AwaitProbes(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return probes_ >= count; });
  }
  void AwaitFlushes(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return flushes_ >= count; });
  }
  int flushes() {
    std::lock_guard lock(mutex_);
    return flushes_;
  }
  Status flush_status;

 private:
  Status Probe(TimePoint, LoadSample* sample) override {
    {
      std::lock_guard lock(mutex_);
      ++probes_;
    }
    changed_.notify_all();
    return script_(sample);
  }
  Status Flush() override {
    {
      std::lock_guard lock(mutex_);
      ++flushes_;
    }
    changed_.notify_all();
    return flush_status;
  }

  Script script_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int probes_ = 0;
  int flushes_ = 0;
};

Status Idle(LoadSample*) { return Status(); }

ScriptedMonitor::Script Load(double load, double memory) {
  return [=](LoadSample* sample) {
    sample->Add({.name = "l0", .level = load});
    sample->Add({.name = "memory", .level = memory});
    sample->memory_pressure = memory;
    return Status();
  };
}

TEST(LoadMonitor, HasNoSampleBeforeTheFirst) {
  const ScriptedMonitor monitor(Idle);
  EXPECT_EQ(monitor.Sample().time, TimePoint{});
  EXPECT_EQ(monitor.LoadLevel(), 0);
  EXPECT_TRUE(monitor.LastError().ok());
}

TEST(LoadMonitor, SamplesCarryTheirTime) {
  ManualClock clock(TimePoint{} + seconds(7));
  ScriptedMonitor monitor(Load(0.4, 0.9), {}, clock);
  ASSERT_TRUE(monitor.SampleOnce().ok());
  EXPECT_EQ(monitor.Sample().time, TimePoint{} + seconds(7));
  EXPECT_EQ(monitor.LoadLevel(), 0.4);  // memory is not load
  EXPECT_EQ(monitor.MemoryPressure(), 0.9);
}

TEST(LoadMonitor, AFailedProbeLeavesTheLastGoodSampleStanding) {
  ManualClock clock(TimePoint{} + seconds(1));
  bool fail = false;
  ScriptedMonitor monitor(
      [&](LoadSample* sample) {
        sample->Add({.name = "l0", .level = fail ? 9.0 : 0.3});
        return fail ? Status::Error("gone") : Status();
      },
      {}, clock);
  ASSERT_TRUE(monitor.SampleOnce().ok());
  clock.Advance(seconds(1));
  fail = true;
  EXPECT_EQ(monitor.SampleOnce().message(), "gone");
  EXPECT_EQ(monitor.LastError().message(), "gone");
  EXPECT_EQ(monitor.LoadLevel(), 0.3);
  EXPECT_EQ(monitor.Sample().time, TimePoint{} + seconds(1));
  fail = false;
  EXPECT_TRUE(monitor.SampleOnce().ok());
  EXPECT_TRUE(monitor.LastError().ok());
}

TEST(LoadMonitor, AProbeThatThrowsFails) {
  ScriptedMonitor standard([](LoadSample*) -> Status { throw std::runtime_error("boom"); });
  EXPECT_EQ(standard.SampleOnce().message(), "the probe threw: boom");
  ScriptedMonitor odd([](LoadSample*) -> Status { throw 42; });
  EXPECT_FALSE(odd.SampleOnce().ok());
}

TEST(LoadMonitor, SamplingOutlivesAProbeThatThrows) {
  std::atomic<int> calls{0};
  ScriptedMonitor monitor(
      [&](LoadSample*) -> Status {
        if (++calls <= 3) throw std::runtime_error("boom");
        return Status();
      },
      {.sample_interval = milliseconds(1)});
  monitor.Start();
  monitor.AwaitProbes(6);
  monitor.Stop();
  EXPECT_TRUE(monitor.LastError().ok());
}

TEST(LoadMonitor, ASampleWithoutFiniteNumbersIsNotGood) {
  for (const double bad : {kNan, kInfinity, -kInfinity}) {
    double level = 0.6;
    ScriptedMonitor monitor([&](LoadSample* sample) {
      sample->Add({.name = "l0", .level = level, .bytes_per_level = level});
      sample->Add({.name = "debt", .level = 0.1});
      sample->memory_pressure = level;
      return Status();
    });
    ASSERT_TRUE(monitor.SampleOnce().ok());
    const TimePoint good = monitor.Sample().time;
    level = bad;
    EXPECT_FALSE(monitor.SampleOnce().ok());
    EXPECT_EQ(monitor.Sample().Find("l0")->level, 0.6);
    EXPECT_EQ(monitor.Sample().time, good) << "so that its age tells";
    EXPECT_EQ(monitor.LastError().message(), "the probe gave no finite number for: memory pressure, l0");
  }
}

TEST(LoadMonitor, AHangingProbeBlocksNobodyWhoAsks) {
  std::mutex mutex;
  std::condition_variable released;
  bool hang = false;
  ScriptedMonitor monitor(
      [&](LoadSample* sample) {
        std::unique_lock lock(mutex);
        released.wait(lock, [&] { return !hang; });
        sample->Add({.name = "l0", .level = 0.5});
        return Status();
      },
      {.sample_interval = milliseconds(1)});
  ASSERT_TRUE(monitor.SampleOnce().ok());
  {
    std::lock_guard lock(mutex);
    hang = true;
  }
  monitor.Start();
  monitor.AwaitProbes(2);
  EXPECT_EQ(monitor.LoadLevel(), 0.5);
  EXPECT_NE(monitor.Sample().time, TimePoint{});
  monitor.ForceFlush();
  monitor.RecordWriteLatency(milliseconds(3));
  EXPECT_FALSE(monitor.ShouldThrottleWrites());
  {
    std::lock_guard lock(mutex);
    hang = false;
  }
  released.notify_all();
  monitor.Stop();
}

TEST(LoadMonitor, StartAndStopAreIdempotentInAnyOrder) {
  ScriptedMonitor monitor(Idle, {.sample_interval = milliseconds(1)});
  monitor.Stop();
  monitor.Stop();
  monitor.Start();
  monitor.Start();
  monitor.AwaitProbes(3);
  monitor.Stop();
  monitor.Stop();
  monitor.Start();
  monitor.AwaitProbes(6);
  monitor.Stop();
}

TEST(LoadMonitor, StopDoesNotWaitForTheInterval) {
  ScriptedMonitor monitor(Idle, {.sample_interval = std::chrono::hours(1)});
  monitor.Start();
  monitor.AwaitProbes(1);
  const auto start = std::chrono::steady_clock::now();
  monitor.Stop();
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(10));
}

TEST(LoadMonitor, ManyThreadsMayStartStopAndAsk) {
  ScriptedMonitor monitor(Load(0.7, 0.7), {.sample_interval = milliseconds(1)});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        monitor.Start();
        monitor.ForceFlush();
        monitor.RecordReadLatency(milliseconds(1));
        (void)monitor.SampleOnce();
        EXPECT_LE(monitor.LoadLevel(), 0.7);
        monitor.Stop();
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

class Careless final : public LoadMonitor {
 public:
  Careless() : LoadMonitor({.sample_interval = std::chrono::hours(1)}) {}

 private:
  Status Probe(TimePoint, LoadSample*) override { return Status(); }
};

TEST(LoadMonitorDeathTest, EndingWhileSamplingIsABugThatIsSaid) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        Careless monitor;
        monitor.Start();
        while (monitor.Sample().time == TimePoint{}) std::this_thread::yield();
      },
      "must call Stop");
}

TEST(LoadMonitor, AFlushThatWasAskedForIsPerformedOnce) {
  ScriptedMonitor monitor(Idle);
  (void)monitor.SampleOnce();
  EXPECT_EQ(monitor.flushes(), 0);
  monitor.ForceFlush();
  monitor.ForceFlush();
  EXPECT_EQ(monitor.flushes(), 0);
  (void)monitor.SampleOnce();
  (void)monitor.SampleOnce();
  EXPECT_EQ(monitor.flushes(), 1);
}

TEST(LoadMonitor, TheSamplingThreadPerformsTheFlush) {
  ScriptedMonitor monitor(Idle, {.sample_interval = milliseconds(1)});
  monitor.Start();
  monitor.ForceFlush();
  monitor.AwaitFlushes(1);
  monitor.Stop();
}

TEST(LoadMonitor, AFailedFlushIsSaid) {
  ScriptedMonitor monitor(Idle);
  monitor.flush_status = Status::Error("disk full");
  monitor.ForceFlush();
  EXPECT_TRUE(monitor.SampleOnce().ok());
  EXPECT_EQ(monitor.LastError().message(), "flush: disk full");
}

TEST(LoadMonitor, RecommendedWriteDelayFollowsThePlansCurve) {
  struct Case {
    double load;
    double memory;
    double delay_ms;
  };
  for (const Case& c :
       {Case{0, 0, 0}, Case{0.5, 0, 0}, Case{0.6, 0, 20}, Case{0.5025, 0, 0.5}, Case{0.75, 0, 50},
        Case{0.9999, 0, 99.98}, Case{1.0, 0, 100}, Case{1.0 + 1.0 / 3, 0, 200}, Case{2.0, 0, 800}, Case{2.5, 0, 1000},
        Case{1e9, 0, 1000}, Case{0, 0.7, 0}, Case{0, 0.85, 50}, Case{0, 1.0, 100}, Case{0.3, 0.6, 0}}) {
    ScriptedMonitor monitor(Load(c.load, c.memory));
    (void)monitor.SampleOnce();
    EXPECT_NEAR(ToSeconds(monitor.RecommendedWriteDelay()) * 1e3, c.delay_ms, 0.01) << c.load << ", " << c.memory;
  }
}

TEST(LoadMonitor, RecommendedReadDelayIsWhatIsAboveFiftyMilliseconds) {
  struct Case {
    milliseconds latency;
    milliseconds delay;
  };
  for (const Case& c : {Case{milliseconds(0), milliseconds(0)}, Case{milliseconds(50), milliseconds(0)},
                        Case{milliseconds(51), milliseconds(1)}, Case{milliseconds(200), milliseconds(150)},
                        Case{milliseconds(5000), milliseconds(200)}}) {
    ScriptedMonitor monitor(Idle);
    monitor.RecordReadLatency(c.latency);
    EXPECT_EQ(monitor.RecommendedReadDelay(), c.delay);
  }
}

TEST(LoadMonitor, AdviceFollowsTheThresholds) {
  struct Case {
    double memory;
    milliseconds latency;
    bool writes;
    bool reads;
  };
  for (const Case& c : {Case{0.5, milliseconds(10), false, false}, Case{0.90, milliseconds(50), false, false},
                        Case{0.92, milliseconds(10), true, false}, Case{0.96, milliseconds(10), true, true},
                        Case{0.5, milliseconds(60), true, false}, Case{0.5, milliseconds(150), true, true}}) {
    ScriptedMonitor monitor(Load(0, c.memory));
    (void)monitor.SampleOnce();
    monitor.RecordWriteLatency(c.latency);
    monitor.RecordReadLatency(c.latency);
    EXPECT_EQ(monitor.ShouldThrottleWrites(), c.writes) << c.memory;
    EXPECT_EQ(monitor.ShouldThrottleReads(), c.reads) << c.memory;
    EXPECT_EQ(monitor.WriteLatency(), c.latency);
    EXPECT_EQ(monitor.ReadLatency(), c.latency);
  }
}

TEST(MonitorSettings, AreReadFromTheEnvironment) {
  SettingTable table;
  MonitorSettings settings;
  Declare(table, settings);
  ASSERT_TRUE(table.Load({{"WEIR_MONITOR_INTERVAL_MS", "250"}}).ok());
  EXPECT_EQ(settings.sample_interval, milliseconds(250));
  EXPECT_FALSE(table.Load({{"WEIR_MONITOR_INTERVAL_MS", "0"}}).ok());
}

}  // namespace
}  // namespace weir
