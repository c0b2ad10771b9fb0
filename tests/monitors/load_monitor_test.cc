#include "monitors/load_monitor.h"

#include <gtest/gtest.h>

#include <atomic>
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

using Script = std::function<Status(LoadSample*)>;

// The script of a probe, and how often it was called.
struct Scripted {
  void AwaitProbes(int count) { Await(probes, count); }
  void AwaitFlushes(int count) { Await(flushes, count); }

  static void Await(std::atomic<int>& calls, int count) {
    for (int now = calls; now < count; now = calls) calls.wait(now);
  }

  Script script;
  Status flush_status;
  std::atomic<int> probes{0};
  std::atomic<int> flushes{0};
};

class ScriptedProbe final : public LoadProbe {
 public:
  explicit ScriptedProbe(Scripted& scripted) : scripted_(scripted) {}

  Status Probe(TimePoint, LoadSample* sample) override {
    ++scripted_.probes;
    scripted_.probes.notify_all();
    return scripted_.script(sample);
  }
  Status Flush() override {
    ++scripted_.flushes;
    scripted_.flushes.notify_all();
    return scripted_.flush_status;
  }

 private:
  Scripted& scripted_;
};

class ScriptedMonitor : public Scripted, public LoadMonitor {
 public:
  explicit ScriptedMonitor(Script s, MonitorSettings settings = {}, const Clock& clock = Clock::System())
      : Scripted{.script = std::move(s)}, LoadMonitor(std::make_unique<ScriptedProbe>(*this), settings, clock) {}
};

Status Idle(LoadSample*) { return Status(); }

Script Load(double load, double memory) {
  return [=](LoadSample* sample) {
    sample->Add({.name = "l0", .level = load});
    sample->Add({.name = "memory", .level = memory});
    sample->memory_pressure = memory;
    return Status();
  };
}

TEST(LoadMonitor, HasNoSampleBeforeTheFirst) {
  const ScriptedMonitor monitor(Idle);
  EXPECT_FALSE(monitor.Sample().time.has_value());
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

// The limiter would not see the ninth signal, which might be the one that limits.
TEST(LoadMonitor, ASampleWithTooManySignalsIsAnError) {
  ScriptedMonitor monitor([](LoadSample* sample) {
    for (size_t i = 0; i <= kMaxSignals; ++i) sample->Add({.name = "x", .level = 0.1});
    return Status();
  });
  EXPECT_EQ(monitor.SampleOnce().message(), "the probe gave more than 8 signals (kMaxSignals)");
  EXPECT_FALSE(monitor.Sample().time.has_value());
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

// A server may take its time: its answer is as old as the moment it arrived.
TEST(LoadMonitor, ASampleIsAsOldAsItsAnswer) {
  ManualClock clock(TimePoint{} + seconds(1));
  ScriptedMonitor monitor(
      [&](LoadSample*) {
        clock.Advance(seconds(3));
        return Status();
      },
      {}, clock);
  ASSERT_TRUE(monitor.SampleOnce().ok());
  EXPECT_EQ(monitor.Sample().time, TimePoint{} + seconds(4));
}

TEST(LoadMonitor, SamplesTheProcessEvenIfTheEngineFails) {
  class Process final : public LoadProbe {
   public:
    Status ProbeProcess(LoadSample* sample) override {
      sample->Add({.name = "memory", .level = 0.7});
      return Status();
    }
    Status Probe(TimePoint, LoadSample* sample) override {
      EXPECT_NE(sample->Find("memory"), nullptr) << "the sample goes on from there";
      return answers ? Status() : Status::Error("gone");
    }
    bool answers = false;
  };
  auto owned = std::make_unique<Process>();
  Process& probe = *owned;
  ManualClock clock(TimePoint{} + seconds(1));
  LoadMonitor monitor(std::move(owned), {}, clock);
  EXPECT_FALSE(monitor.ProcessSample().time.has_value());
  EXPECT_EQ(monitor.SampleOnce().message(), "gone");
  EXPECT_FALSE(monitor.Sample().time.has_value());
  EXPECT_EQ(monitor.ProcessSample().time, TimePoint{} + seconds(1));
  EXPECT_EQ(monitor.ProcessSample().Find("memory")->level, 0.7);
  probe.answers = true;
  ASSERT_TRUE(monitor.SampleOnce().ok());
  EXPECT_EQ(monitor.Sample().Find("memory")->level, 0.7);
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
    const auto good = monitor.Sample().time;
    level = bad;
    EXPECT_FALSE(monitor.SampleOnce().ok());
    EXPECT_EQ(monitor.Sample().Find("l0")->level, 0.6);
    EXPECT_EQ(monitor.Sample().time, good) << "so that its age tells";
    EXPECT_EQ(monitor.LastError().message(), "the probe gave no finite number for: memory pressure, l0");
  }
}

TEST(LoadMonitor, AHangingProbeBlocksNoCaller) {
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
  EXPECT_TRUE(monitor.Sample().time.has_value());
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

TEST(LoadMonitor, MayEndWhileItSamples) {
  ScriptedMonitor monitor(Idle, {.sample_interval = milliseconds(1)});
  monitor.Start();
  monitor.AwaitProbes(2);
}

TEST(LoadMonitor, AFlushThatWasAskedForIsPerformedOnce) {
  ScriptedMonitor monitor(Idle);
  (void)monitor.SampleOnce();
  EXPECT_EQ(monitor.flushes, 0);
  monitor.ForceFlush();
  monitor.ForceFlush();
  EXPECT_EQ(monitor.flushes, 0);
  (void)monitor.SampleOnce();
  (void)monitor.SampleOnce();
  EXPECT_EQ(monitor.flushes, 1);
}

// The next sample shows what the flush has changed, so it must not ask once more for the same flush.
TEST(LoadMonitor, AFlushThatIsDueIsPerformedRightAfterItsSample) {
  bool due = true;
  bool good = true;
  ScriptedMonitor monitor([&](LoadSample* sample) {
    sample->flush_due = due;
    return good ? Status() : Status::Error("no answer");
  });
  (void)monitor.SampleOnce();
  EXPECT_EQ(monitor.flushes, 1);
  good = false;
  (void)monitor.SampleOnce();
  EXPECT_EQ(monitor.flushes, 1) << "the sample is not good";
  due = false;
  good = true;
  (void)monitor.SampleOnce();
  EXPECT_EQ(monitor.flushes, 1);
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

TEST(LoadMonitor, RecommendedReadDelayIsTheExcessOverFiftyMilliseconds) {
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

TEST(LoadMonitor, AdviceFollowsSignalsThatActOnTheWork) {
  struct Case {
    Signal signal;
    bool writes;
    bool reads;
  };
  for (const Case& c :
       {Case{{.level = 1, .bytes_per_level = 1}, false, false}, Case{{.level = 1.1, .bytes_per_level = 1}, true, false},
        Case{{.level = 1.1, .bytes_per_level = 1, .acts_on_reads = true}, true, true},
        Case{{.level = 1.1, .waiting = 0.2, .bytes_per_level = 1}, false, false},
        Case{{.level = 9, .bytes_per_level = 0, .acts_on_reads = true}, false, false}}) {
    ScriptedMonitor monitor([&](LoadSample* sample) {
      sample->Add(c.signal);
      return Status();
    });
    ASSERT_TRUE(monitor.SampleOnce().ok());
    EXPECT_EQ(monitor.ShouldThrottleWrites(), c.writes) << c.signal.level;
    EXPECT_EQ(monitor.ShouldThrottleReads(), c.reads) << c.signal.level;
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

TEST(MonitorSettings, AProgramsValuesAreCheckedAgainstTheSameRanges) {
  EXPECT_TRUE(Check(MonitorSettings()).ok());
  EXPECT_EQ(Check(MonitorSettings{.sample_interval = milliseconds(0)}).message(),
            "sample_interval is 0, not within 10..10000 (ms)");
  EXPECT_FALSE(Check(MonitorSettings{.write_memory_threshold = std::numeric_limits<double>::quiet_NaN()}).ok());
  EXPECT_FALSE(Check(MonitorSettings{.read_latency_threshold = milliseconds(-1)}).ok());
}

}  // namespace
}  // namespace weir
