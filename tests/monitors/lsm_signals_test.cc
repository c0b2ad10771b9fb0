#include "monitors/lsm_signals.h"

#include <gtest/gtest.h>

#include <cmath>

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr uint64_t kMiB = 1 << 20;
constexpr Duration kInterval = milliseconds(100);

// The storm recipe.
LsmGeometry Recipe() {
  return {.write_buffer_bytes = 4 * kMiB,
          .l0_trigger = 4,
          .l1_bytes = 32 * kMiB,
          .brakes = {.max_write_buffers = 4, .l0_slowdown = 12, .soft_pending_bytes = 512 * kMiB},
          .background_bytes_per_second = 32.0 * kMiB};
}

Signal Sense(const LsmGeometry& geometry, const LsmFacts& facts, std::string_view name) {
  LsmSignals signals(geometry, kInterval);
  LoadSample sample;
  signals.Update(TimePoint{}, facts, &sample);
  return *sample.Find(name);
}

// An engine whose facts the test changes between two samples.
class SampledEngine {
 public:
  explicit SampledEngine(const LsmGeometry& geometry = Recipe(), Duration interval = kInterval)
      : interval_(interval), signals_(geometry, interval) {}

  void Sample() {
    sample_ = LoadSample();
    signals_.Update(now_ += interval_, facts, &sample_);
  }
  void StandStill(Duration time) { now_ += time; }
  const Signal& Of(std::string_view name) const { return *sample_.Find(name); }
  double drain() const { return Of("l0").drain_bytes_per_second; }
  double background() const { return signals_.BackgroundBytesPerSecond(); }

  LsmFacts facts{.compacting = true};

 private:
  const Duration interval_;
  LsmSignals signals_;
  TimePoint now_{};
  LoadSample sample_;
};

TEST(LsmSignals, TheRecipesL0LoopIsAsInThePrototype) {
  const Signal l0 = Sense(Recipe(), {}, "l0");
  EXPECT_NEAR(l0.bytes_per_level, 33.5e6, 0.1e6);
  EXPECT_NEAR(ToSeconds(l0.dead_time), 2.5, 0.1);
  EXPECT_NEAR(l0.bytes_per_level / (2 * ToSeconds(l0.dead_time)), 6.7e6, 0.3e6);
  EXPECT_NEAR(l0.drain_bytes_per_second, 6.7e6, 0.1e6);
}

TEST(LsmSignals, RocksDbsDefaultGeometryHasTenSecondsOfDeadTime) {
  const Signal l0 = Sense(LsmGeometry{}, {}, "l0");
  EXPECT_NEAR(ToSeconds(l0.dead_time), 10, 0.5);
  EXPECT_NEAR(l0.bytes_per_level / (2 * ToSeconds(l0.dead_time)), 54e6, 3e6);
}

TEST(LsmSignals, TheDeadTimeCountsTheBytesThatL1HasIfItsSizeVaries) {
  LsmGeometry geometry = Recipe();
  const auto dead_time = [&](uint64_t l1_mib) {
    return ToSeconds(Sense(geometry, {.l1_size_bytes = l1_mib * kMiB}, "l0").dead_time);
  };
  const double configured = dead_time(0);
  EXPECT_EQ(dead_time(16), configured);
  geometry.l1_size_varies = true;
  EXPECT_NEAR(configured - dead_time(0), 1, 1e-6) << "32 MiB at 32 MiB/s";
  EXPECT_NEAR(configured - dead_time(16), 0.5, 1e-6);
  EXPECT_EQ(dead_time(320), configured) << "never more than L1 may have";
}

// Eight times the dead time, the integral time of a loop, was longer than a Duration can be.
TEST(LsmSignals, ADisabledTriggerOfL0LeavesADeadTimeOfAnHourAtMost) {
  const LsmGeometry geometry{.brakes = {.l0_slowdown = 1 << 30, .l0_stop = 1 << 30},
                             .background_bytes_per_second = 32.0 * kMiB};
  EXPECT_LE(Sense(geometry, {}, "l0").dead_time, std::chrono::hours(1) + kInterval);
}

// An engine works off 40 files of a bulk load in one compaction. That is no cycle, so its peak is not held for one.
TEST(LsmSignals, ABulkLoadLimitsUntilItsBacklogIsGone) {
  LsmGeometry geometry = Recipe();
  LsmSignals signals(geometry, kInterval);
  TimePoint now{};
  LsmFacts facts{.l0_files = 3};
  const auto l0 = [&] {
    LoadSample sample;
    signals.Update(now += kInterval, facts, &sample);
    return *sample.Find("l0");
  };
  l0();
  geometry.compaction_brakes = false;
  signals.SetGeometry(geometry);
  facts.l0_files = 40;
  EXPECT_EQ(l0().level, 0);
  EXPECT_EQ(l0().bytes_per_level, 0) << "it limits nothing";
  geometry.compaction_brakes = true;
  signals.SetGeometry(geometry);
  facts.compacting = true;
  for (int sample = 0; sample < 100; ++sample) EXPECT_GT(l0().level, 4);
  facts.l0_files = 6;
  EXPECT_NEAR(l0().level, 2 / 8.0, 0.01);
}

TEST(LsmSignals, L0IsZeroAtTheTriggerAndOneWhereTheEngineBrakes) {
  const struct {
    const char* name;
    LsmFacts facts;
    double level;
  } cases[] = {
      {"empty", {}, 0},
      {"at the trigger", {.l0_files = 4}, 0},
      {"halfway", {.l0_files = 8}, 0.5},
      {"where the engine brakes", {.l0_files = 12}, 1},
      {"beyond", {.l0_files = 16}, 1.5},
      {"a full memtable counts as a file", {.memtable_bytes = 4 * kMiB, .l0_files = 11}, 1},
      {"half a memtable counts as half a file", {.memtable_bytes = 2 * kMiB, .l0_files = 11}, 0.9375},
      {"a memtable below the trigger", {.memtable_bytes = 2 * kMiB, .l0_files = 3}, 0},
      {"small files count as the engine counts them", {.l0_files = 12, .l0_bytes = uint64_t{12} * 1024}, 1},
      {"files merged within L0 count by their bytes", {.l0_files = 2, .l0_bytes = 48 * kMiB}, 1},
  };
  for (const auto& c : cases) EXPECT_NEAR(Sense(Recipe(), c.facts, "l0").level, c.level, 1e-9) << c.name;
}

TEST(LsmSignals, SmallFilesRaiseL0WithFewerBytes) {
  SampledEngine engine;
  engine.facts = {.l0_files = 8, .l0_bytes = 32 * kMiB};
  engine.Sample();
  const Signal full = engine.Of("l0");
  engine.facts.l0_bytes = 8 * kMiB;
  for (int i = 0; i < 600; ++i) engine.Sample();
  const Signal small = engine.Of("l0");
  EXPECT_NEAR(small.bytes_per_level, full.bytes_per_level / 4, 0.01 * full.bytes_per_level);
  EXPECT_LT(small.dead_time, full.dead_time);
  EXPECT_NEAR(small.level, full.level, 0.001) << "the engine brakes by their number";
  engine.facts.l0_files = engine.facts.l0_bytes = 0;
  engine.Sample();
  EXPECT_EQ(engine.Of("l0").bytes_per_level, small.bytes_per_level) << "an empty L0 says nothing";
  engine.facts = {.l0_files = 1, .l0_bytes = 40 * kMiB};
  for (int i = 0; i < 600; ++i) engine.Sample();
  EXPECT_NEAR(engine.Of("l0").bytes_per_level, full.bytes_per_level, 0.01 * full.bytes_per_level)
      << "a file that was merged from several did not come with its bytes";
}

TEST(LsmSignals, FlushesAreAsFastAsTheEngineMeasuredThemAtFirst) {
  EXPECT_NEAR(Sense(Recipe(), {}, "memtables").drain_bytes_per_second, 32.0 * kMiB, 1);
  EXPECT_NEAR(Sense(Recipe(), {.flush_bytes_per_second = 5e6}, "memtables").drain_bytes_per_second, 5e6, 1);
  EXPECT_NEAR(Sense(Recipe(), {.flush_bytes_per_second = 500e6}, "memtables").drain_bytes_per_second, 32.0 * kMiB, 1)
      << "the limit of I/O is lower";
}

TEST(LsmSignals, AFlushDoesNotMoveL0) {
  LsmSignals signals(Recipe(), kInterval);
  LoadSample before;
  LoadSample after;
  signals.Update(TimePoint{}, {.memtable_bytes = 5 * kMiB, .immutable_memtables = 1, .l0_files = 7}, &before);
  signals.Update(TimePoint{} + kInterval, {.memtable_bytes = 1 * kMiB, .l0_files = 8}, &after);
  EXPECT_NEAR(after.Find("l0")->level, before.Find("l0")->level, 1e-9);
}

TEST(LsmSignals, NeitherL0NorDebtLimitsIfTheEngineDoesNotCompact) {
  LsmGeometry geometry = Recipe();
  geometry.compaction_brakes = false;
  const LsmFacts facts{.l0_files = 100, .pending_compaction_bytes = 1ull << 40};
  for (const char* name : {"l0", "debt"}) {
    EXPECT_EQ(Sense(geometry, facts, name).level, 0) << name;
    EXPECT_EQ(Sense(geometry, facts, name).bytes_per_level, 0) << name;
  }
  EXPECT_GT(Sense(geometry, facts, "memtables").bytes_per_level, 0);
}

TEST(LsmSignals, DebtIsLogarithmicFromAnEighthOfTheSoftLimit) {
  struct Case {
    uint64_t debt;
    double level;
  };
  for (const Case& c : {Case{0, 0}, Case{1, 0}, Case{64 * kMiB, 0}, Case{128 * kMiB, 1.0 / 3}, Case{512 * kMiB, 1},
                        Case{4096 * kMiB, 2}}) {
    EXPECT_NEAR(Sense(Recipe(), {.pending_compaction_bytes = c.debt}, "debt").level, c.level, 1e-9) << c.debt;
  }
}

// When it still had bytes per level, its limit was the bare drain at any load, so L0 never filled up to its setpoint.
TEST(LsmSignals, DebtForWhichTheEngineNeverBrakesLimitsNothing) {
  LsmGeometry unlimited = Recipe();
  unlimited.brakes.soft_pending_bytes = 0;
  LsmGeometry universal = Recipe();
  universal.counts_runs = true;
  for (const LsmGeometry& geometry : {unlimited, universal}) {
    const Signal debt = Sense(geometry, {.pending_compaction_bytes = 1ull << 40}, "debt");
    EXPECT_EQ(debt.level, 0) << geometry.counts_runs;
    EXPECT_EQ(debt.bytes_per_level, 0) << geometry.counts_runs;
  }
}

TEST(LsmSignals, TheMoreAByteOwesTheFewerRaiseTheDebt) {
  // 32 MB/s of background I/O against a drain of 6.4 and of 1.6.
  const auto per_level = [](uint64_t drained) {
    SampledEngine engine;
    for (int i = 1; i <= 600; ++i) {
      if (i % 40 == 0) engine.facts.total_drained_bytes += drained;
      engine.Sample();
    }
    return engine.Of("debt").bytes_per_level;
  };
  EXPECT_NEAR(per_level(25'600'000) / per_level(6'400'000), 4, 0.1);
}

TEST(LsmSignals, ScoreIsAgainstItsThreshold) {
  EXPECT_NEAR(Sense(Recipe(), {.deepest_score = 3.0}, "score").level, 2.0, 1e-9);
}

TEST(LsmSignals, DebtAndScoreAreFilteredOverTenSeconds) {
  LsmSignals signals(Recipe(), kInterval);
  LoadSample before;
  signals.Update(TimePoint{}, {}, &before);
  LoadSample later;
  signals.Update(TimePoint{} + seconds(10), {.pending_compaction_bytes = 512 * kMiB, .deepest_score = 1.5}, &later);
  for (const char* name : {"debt", "score"}) EXPECT_NEAR(later.Find(name)->level, 1 - std::exp(-1.0), 1e-9) << name;
}

TEST(LsmSignals, MemtablesAreOneWhereTheEngineBrakes) {
  struct Case {
    int buffers;
    uint64_t memtable_bytes;
    double level;
  };
  // With four buffers RocksDB slows down at three immutable ones; with two it stops at two.
  for (const Case& c : {Case{4, 0, 0}, Case{4, 4 * kMiB, 0}, Case{4, 8 * kMiB, 0.5}, Case{4, 12 * kMiB, 1},
                        Case{2, 4 * kMiB, 0}, Case{2, 8 * kMiB, 1}, Case{3, 12 * kMiB, 1}}) {
    LsmGeometry geometry = Recipe();
    geometry.brakes.max_write_buffers = c.buffers;
    EXPECT_NEAR(Sense(geometry, {.memtable_bytes = c.memtable_bytes}, "memtables").level, c.level, 1e-9)
        << c.buffers << " buffers, " << c.memtable_bytes;
  }
}

TEST(LsmSignals, MemtablesThatWaitToBeFlushedTogetherAreNoBacklog) {
  LsmGeometry geometry = Recipe();
  geometry.buffers_per_flush = 2;
  geometry.brakes.max_write_buffers = 5;
  EXPECT_NEAR(Sense(geometry, {.memtable_bytes = 8 * kMiB}, "memtables").level, 0, 1e-9);
  EXPECT_NEAR(Sense(geometry, {.memtable_bytes = 16 * kMiB}, "memtables").level, 1, 1e-9);  // four of five
}

TEST(LsmSignals, TheDrainIsUserBytesLeavingL0PerBusySecond) {
  SampledEngine engine;
  engine.facts.table_bytes_per_user_byte = 0.5;
  // For two seconds a compaction takes 8 MB of files (16 MB as the user wrote them), then two seconds are idle.
  for (int i = 0; i < 800; ++i) {
    engine.facts.compacting = i % 40 < 20;
    if (i % 40 == 20) engine.facts.total_drained_bytes += 8'000'000;
    engine.Sample();
  }
  EXPECT_NEAR(engine.drain(), 8e6, 0.3e6);
  EXPECT_EQ(engine.Of("debt").drain_bytes_per_second, engine.drain());
}

// Compactions of L0 take 16 MB each. Half of them leave it in L1; in a steady state the other half take it out again.
double DrainAfter(int cycles, bool l1_is_emptied) {
  SampledEngine engine;
  for (int i = 0; i < 40 * cycles; ++i) {
    if (i % 40 == 20) engine.facts.total_drained_bytes += 16'000'000;
    if (i % 40 == 20) engine.facts.l1_bytes += 16'000'000;
    if (l1_is_emptied && i % 40 == 39) engine.facts.l1_bytes -= 16'000'000;
    engine.Sample();
  }
  return engine.drain();
}

TEST(LsmSignals, BytesLeftInL1CountAsOwedWork) {
  // 16 MB cost 4 s; while L1 only grows, another 32 MB are owed at 33.5 MB/s.
  EXPECT_NEAR(DrainAfter(20, false), 16e6 / (4 + 0.954), 0.1e6);
  EXPECT_NEAR(DrainAfter(20, true), 16e6 / 4, 0.1e6);
}

// Without a bound, the 10 GB would count as ten minutes of work that the drain was told in advance.
TEST(LsmSignals, ADeletionFromL1DistortsTheDrainOnlyBriefly) {
  SampledEngine engine;
  engine.facts.l1_bytes = 20'000'000'000;
  const auto run = [&](int cycles) {
    for (int i = 0; i < 40 * cycles; ++i) {
      if (i % 40 == 20) engine.facts.total_drained_bytes += 16'000'000;
      engine.Sample();
    }
    return engine.drain();
  };
  ASSERT_NEAR(run(20), 16e6 / 4, 0.1e6);
  engine.facts.l1_bytes -= 10'000'000'000;
  EXPECT_NEAR(run(20), 16e6 / 4, 0.2e6);
}

TEST(LsmSignals, ASlowerDiskLowersTheDrainDuringACompaction) {
  SampledEngine engine;
  engine.facts.total_background_bytes = 1;
  const auto run = [&](int samples, uint64_t written_per_sample, bool ends) {
    for (int i = 1; i <= samples; ++i) {
      engine.facts.total_background_bytes += written_per_sample;
      if (ends && i % 40 == 0) engine.facts.total_drained_bytes += 24'000'000;
      engine.Sample();
    }
    return engine.drain();
  };
  EXPECT_NEAR(run(800, 3'200'000, true), 6e6, 0.1e6);
  EXPECT_NEAR(run(60, 1'200'000, false), 6e6 * 12 / 32, 0.3e6);
  engine.facts.total_background_bytes = 0;  // the limiter is gone: nothing is known, so nothing changes
  const double before = engine.drain();
  EXPECT_NEAR(run(1, 0, false), before, 0.2e6);
}

TEST(LsmSignals, TimeInWhichTheProcessStoodStillDoesNotLowerTheDrain) {
  SampledEngine engine;
  engine.facts.total_background_bytes = 1;
  const auto run = [&](int samples) {
    for (int i = 1; i <= samples; ++i) {
      engine.facts.total_background_bytes += 3'200'000;
      if (i % 40 == 0) engine.facts.total_drained_bytes += 24'000'000;
      engine.Sample();
    }
    return engine.drain();
  };
  ASSERT_NEAR(run(800), 6e6, 0.1e6);
  for (const Duration time : {Duration(seconds(5)), Duration(minutes(10))}) {
    engine.StandStill(time);
    EXPECT_NEAR(run(1), 6e6, 0.1e6) << ToSeconds(time);
    EXPECT_NEAR(run(80), 6e6, 0.1e6) << ToSeconds(time);
  }
}

// The engine may have stood still, too, just when a compaction had ended, or it may have drained on.
TEST(LsmSignals, BytesDrainedDuringALongStepDoNotChangeTheDrain) {
  SampledEngine engine;
  const auto run = [&](int samples) {
    for (int i = 1; i <= samples; ++i) {
      if (i % 40 == 0) engine.facts.total_drained_bytes += 24'000'000;
      engine.Sample();
    }
    return engine.drain();
  };
  ASSERT_NEAR(run(800), 6e6, 0.1e6);
  for (const uint64_t drained : {24'000'000, 360'000'000}) {
    run(39);
    engine.StandStill(minutes(1));
    engine.facts.total_drained_bytes += drained;
    engine.Sample();
    EXPECT_NEAR(engine.drain(), 6e6, 0.1e6) << drained;
    EXPECT_NEAR(run(80), 6e6, 0.1e6) << drained;
  }
}

TEST(LsmSignals, SamplesTenSecondsApartMeasureTheDrain) {
  SampledEngine engine(Recipe(), seconds(10));
  for (int i = 0; i < 20; ++i) {
    engine.facts.total_drained_bytes += 40'000'000;
    engine.Sample();
  }
  EXPECT_NEAR(engine.drain(), 4e6, 0.1e6);
}

// Guards against taking the limit for the disk's speed: a limit of 1 GiB/s let 100 MB/s into an engine that flushed 40.
TEST(LsmSignals, ALimitThatIsNeverReachedDoesNotMakeTheEngineFast) {
  LsmGeometry geometry = Recipe();
  geometry.background_bytes_per_second = 1024.0 * kMiB;
  SampledEngine engine(geometry);
  engine.facts.total_background_bytes = 1;
  engine.Sample();
  EXPECT_LE(engine.background(), 200e6) << "before anything was seen";
  for (int i = 0; i < 100; ++i) {
    engine.facts.total_background_bytes += 2'000'000;
    engine.Sample();
  }
  EXPECT_NEAR(engine.background(), 20e6, 1e6);
}

// A cloud disk with burst credits.
TEST(LsmSignals, ADiskIsNotTakenForFastLongAfterItWasFast) {
  LsmGeometry geometry = Recipe();
  geometry.background_bytes_per_second = 1024.0 * kMiB;
  SampledEngine engine(geometry);
  engine.facts.total_background_bytes = 1;
  const auto run = [&](int for_seconds, uint64_t bytes_per_second) {
    for (int i = 0; i < 10 * for_seconds; ++i) {
      engine.facts.total_background_bytes += bytes_per_second / 10;
      engine.Sample();
    }
    return engine.background();
  };
  ASSERT_NEAR(run(30, 400'000'000), 400e6, 10e6);
  EXPECT_GT(run(60, 100'000'000), 300e6) << "nor is it slow for a slow minute";
  EXPECT_LT(run(1200, 100'000'000), 110e6);
}

TEST(LsmSignals, AChangedLimitOfTheDiskChangesTheDeadTime) {
  LsmSignals signals(Recipe(), kInterval);
  LoadSample fast;
  LoadSample slow;
  signals.Update(TimePoint{}, {}, &fast);
  signals.Update(TimePoint{} + kInterval, {.background_bytes_per_second = 12.0 * kMiB}, &slow);
  EXPECT_NEAR(ToSeconds(slow.Find("l0")->dead_time - kInterval) / ToSeconds(fast.Find("l0")->dead_time - kInterval),
              32.0 / 12, 0.01);
}

}  // namespace
}  // namespace weir
