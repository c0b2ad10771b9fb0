// The goals that the throttle must reach on the simulated engine, at its default gains.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "bench/simulator/law.h"
#include "bench/simulator/tables.h"
#include "tests/bench/simulator/run.h"

namespace weir {
namespace {

TEST(Acceptance, StepToThreeTimesTheSustainable) {
  for (const std::string_view geometry : {"recipe", "recipe-x4"}) {
    SCOPED_TRACE(geometry);
    const Figures f = FiguresOf("step", "weir", geometry);
    EXPECT_LE(f.overshoot_percent, 10);
    EXPECT_LE(f.settling_seconds, 2 * f.integral_seconds);
    EXPECT_LE(f.settling_seconds, 40);
    EXPECT_LE(std::abs(f.steady_error), 0.03 * f.setpoint);
    EXPECT_EQ(f.escapes, 0);
    EXPECT_EQ(f.stalled_seconds, 0);
  }
}

// A compaction that comes late lets L0 rise by what came in meanwhile, and the limit falls until it ends.
TEST(Acceptance, CompactionsThatComeUnevenlyKeepTheLevelAndMostlyTheLimit) {
  const Figures f = FiguresOf("sustained-3x", "weir", "uneven");
  EXPECT_LE(f.overshoot_percent, 15);
  EXPECT_GE(f.limit_within_percent, 60);
  EXPECT_EQ(f.escapes, 0);
  EXPECT_EQ(f.stalled_seconds, 0);
}

// The setpoint is for the engine: its base of memory stands at 0.18 and more, and waiting work does not free it.
TEST(Acceptance, ABulkSetpointBelowTheMemoryBaseDoesNotStopBulkWork) {
  for (const double setpoint : {0.2, 0.17, 0.05}) {
    SimulationOptions options = OptionsOf("burst");
    options.settings.bulk.setpoint = setpoint;
    const Figures f = Simulate(options).figures;
    EXPECT_GT(f.bulk_bytes_per_second, 1e6) << setpoint;
    EXPECT_EQ(f.bulk_refused, 0) << setpoint;
  }
}

// Covers both classes, and a missing P alone.
TEST(Acceptance, GainsOfZeroLetWorkThrough) {
  for (const PidGains gains : {PidGains{0, 0, 0}, PidGains{0, 0, 0.05}, PidGains{0, 0.1, 0.05}}) {
    for (const bool bulk : {true, false}) {
      SimulationOptions options = OptionsOf("burst");
      (bulk ? options.settings.bulk : options.settings.write).gains = gains;
      const Figures f = Simulate(options).figures;
      EXPECT_EQ(bulk ? f.bulk_refused : f.interactive_refused, 0) << gains.ki << " " << gains.kd;
      EXPECT_GT(f.bulk_bytes_per_second, 1e6) << gains.ki << " " << gains.kd;
    }
  }
}

TEST(Acceptance, TheDefaultGeometryNeedsNoOtherGains) {
  const Figures f = FiguresOf("step", "weir", "default");
  EXPECT_LE(f.settling_seconds, 2 * f.integral_seconds);
  EXPECT_EQ(f.escapes, 0);
}

// With RocksDB's defaults a burst briefly fills the second of two memtables of 64 MiB, when flushes begin to share the
// disk with a compaction. It does not reach 1.0.
double MostOvershoot(std::string_view scenario, std::string_view geometry) {
  const std::set<std::string_view> bursts = {"step",       "burst",       "sustained-3x",
                                             "idle-burst", "sensor-loss", "memory-low-l0-high"};
  return geometry == "default" && bursts.contains(scenario) ? 40 : 10;
}

// Each case is a test of its own, because some take long under the sanitizers.
class Disturbances : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(Disturbances, TakeTheLevelNoMoreThanATenthAboveTheSetpoint) {
  const auto& [scenario, geometry] = GetParam();
  const Figures f = FiguresOf(scenario, "weir", geometry);
  EXPECT_LE(f.overshoot_percent, MostOvershoot(scenario, geometry));
  EXPECT_LE(f.settling_seconds, 2 * f.integral_seconds);
}

std::vector<std::string> BottleneckScenarios() {
  std::vector<std::string> names;
  for (const Scenario& s : Scenarios())
    if (!s.weighted) names.emplace_back(s.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Of, Disturbances,
                         testing::Combine(testing::ValuesIn(BottleneckScenarios()),
                                          testing::Values("recipe", "recipe-x4", "default")),
                         [](const auto& i) {
                           std::string name = std::get<0>(i.param) + "_" + std::get<1>(i.param);
                           for (char& c : name)
                             if (c == '-') c = '_';
                           return name;
                         });

TEST(Acceptance, AThousandWritersGetAsMuchAsOne) {
  const Figures thousand = FiguresOf("thousand-writers");
  const Figures one = FiguresOf("one-writer");
  EXPECT_NEAR(thousand.aggregate_bytes_per_second / one.aggregate_bytes_per_second, 1, 0.02);
  EXPECT_EQ(thousand.bulk_refused, 0);
}

TEST(Acceptance, TheBrakeAnswersAnIdleHourAtOnce) {
  const Figures f = FiguresOf("idle-burst");
  EXPECT_LE(f.brake_delay_seconds, 0.1);
  EXPECT_EQ(f.escapes, 0);
}

TEST(Acceptance, TheBottleneckThrottlesWhenTheWeightedSumDoesNot) {
  const Figures bottleneck = FiguresOf("memory-low-l0-high");
  const Figures weighted = FiguresOf("memory-low-l0-high-weighted");
  EXPECT_EQ(bottleneck.escapes, 0);
  EXPECT_NEAR(bottleneck.steady_error, 0, 0.03);
  EXPECT_GT(weighted.highest_level, 2) << "memory at a fifth hides a full L0";
  EXPECT_GT(weighted.escapes, 0);
  EXPECT_GT(weighted.stalled_seconds, 0);
}

TEST(Acceptance, InteractiveWorkNeverWaitsForTheEngine) {
  for (const Scenario& s : Scenarios()) {
    if (s.weighted) continue;
    SCOPED_TRACE(s.name);
    const Figures f = FiguresOf(s.name);
    EXPECT_LE(f.interactive_p999_ms, 5);
    EXPECT_EQ(f.interactive_refused, 0);
    EXPECT_EQ(f.stalled_seconds, 0);
    EXPECT_EQ(f.escapes, 0);
  }
}

TEST(Acceptance, TenPartiesShareAlike) { EXPECT_GE(FiguresOf("ten-parties").jain_index, 0.95); }

TEST(Acceptance, ALostBandwidthIsSettledWithinTwoIntegralTimes) {
  const Figures f = FiguresOf("bandwidth");
  EXPECT_LE(f.settling_seconds, 2 * f.integral_seconds);
  EXPECT_EQ(f.stalled_seconds, 0);
}

// The fixed rate was chosen knowing the load, and breaks a minute later.
TEST(Acceptance, ATreeThatGrowsIsFilledAsFastAsByTheBestFixedRate) {
  const Geometry& growing = *FindGeometry("growing");
  const Sustained weir = SustainedByWeir(growing, {}, 600);
  const Sustained fixed = SustainedByBestFixedRate(growing, {}, 600);
  EXPECT_GT(fixed.adjusted_bytes_per_second, 1e6);
  EXPECT_GE(weir.adjusted_bytes_per_second, 0.95 * fixed.adjusted_bytes_per_second);
  EXPECT_EQ(weir.stalled_seconds, 0);
}

TEST(Acceptance, AGrowingTreeNeverStallsInAnHour) {
  const Sustained hour = SustainedByWeir(*FindGeometry("growing"), {}, 3600);
  EXPECT_EQ(hour.stalled_seconds, 0);
  EXPECT_GT(hour.tree_bytes, 5e9);
}

TEST(Acceptance, ALostSensorLeavesTheLimitWhereItWas) {
  const SimulationResult run = Simulate(OptionsOf("sensor-loss"));
  // The sensor fails from 60 to 70 s: the last sample is good for two seconds, then the last limit holds.
  double held = 0;
  for (const TickRow& row : run.rows) {
    if (row.time_s < 63 || row.time_s > 69.5) continue;
    EXPECT_FALSE(row.open);
    EXPECT_EQ(row.reason, "sensor lost");
    if (held == 0) held = row.limit;
    EXPECT_EQ(row.limit, held);
  }
  EXPECT_GT(held, 0);
  EXPECT_NEAR(run.figures.steady_error, 0, 0.03);
}

TEST(Acceptance, NewGainsDoNotKick) {
  const SimulationResult run = Simulate(OptionsOf("gain-change"));
  double before = 0;
  double after = 0;
  for (const TickRow& row : run.rows) {
    if (row.time_s < 79.95) before = row.limit;
    if (row.time_s < 80.05) after = row.limit;
  }
  EXPECT_NEAR(after / before, 1, 0.1) << "a compaction has just ended";
}

// The bake-off in one line per law; bench/simulator/README.md has the figures.
TEST(BakeOff, OtherLawsStallOrOvershootMore) {
  const Figures weir = FiguresOf("step");
  const Figures none = FiguresOf("step", "none");
  EXPECT_GT(none.stalled_seconds, 60);
  EXPECT_GT(none.interactive_p999_ms, 200 * weir.interactive_p999_ms);
  EXPECT_GT(FiguresOf("step", "plan").stalled_seconds, 20);
  EXPECT_GT(FiguresOf("step", "pd").overshoot_percent, 100) << "it controls the flow, not the level";
  EXPECT_GT(FiguresOf("idle-burst", "spring").overshoot_percent, 2 * FiguresOf("idle-burst").overshoot_percent);
}

// The score of the levels below stands at 1 at any load; a law that saw it would hold back for nothing.
TEST(BakeOff, AllLawsSteerByTheSignalsThatActAndByNoOther) {
  LoadSample sample;
  sample.Add({.name = "l0", .level = 0.4});
  sample.Add({.name = "memory", .level = 0.6});
  sample.Add({.name = "score", .level = 1.2, .acts_on_writes = false});
  EXPECT_EQ(ActingLevel(sample), 0.6);
  EXPECT_EQ(ActingEngineLevel(sample), 0.4);
  EXPECT_NEAR(FiguresOf("step", "spring").bulk_bytes_per_second / FiguresOf("step").bulk_bytes_per_second, 1, 0.05);
}

TEST(BakeOff, EveryLawRunsEveryScenario) {
  for (const std::string_view law : LawNames()) {
    for (const Scenario& s : Scenarios()) {
      SCOPED_TRACE(std::string(law) + " " + std::string(s.name));
      SimulationOptions options = OptionsOf(s.name, law);
      options.seconds = 30;
      EXPECT_EQ(Simulate(options).rows.size(), 301u);
    }
  }
}

}  // namespace
}  // namespace weir
