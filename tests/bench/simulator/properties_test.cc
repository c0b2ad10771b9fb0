// Properties that must hold under any load: random scenarios, on virtual time.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "bench/simulator/report.h"
#include "tests/bench/simulator/run.h"

namespace weir {
namespace {

Scenario Closed(int parties, int writers_of_first_party, double seconds) {
  return {.name = "drawn",
          .meaning = "",
          .seconds = seconds,
          .from_s = seconds / 2,
          .parties = parties,
          .writers_of_first_party = writers_of_first_party};
}

SimulationResult RunOf(const Scenario& scenario, const Geometry& geometry, uint64_t seed) {
  return Simulate({.scenario = &scenario, .geometry = &geometry, .seed = seed});
}

// Runs fewer than rapidcheck's hundred cases: each runs the simulator for one or two simulated minutes.
template <typename Property>
void Holds(const Property& property) {
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = std::min(params.maxSuccess, 20);
  rc::detail::TestMetadata metadata;
  metadata.id = testing::UnitTest::GetInstance()->current_test_info()->name();
  const rc::detail::TestResult result = rc::detail::checkTestable(property, metadata, params);
  if (result.is<rc::detail::SuccessResult>()) return;
  std::ostringstream message;
  rc::detail::printResultMessage(result, message);
  ADD_FAILURE() << message.str();
}

const Geometry& Recipe() { return *FindGeometry("recipe"); }

TEST(SimulatorProperty, TokensAreConserved) {
  Holds([] {
    const Scenario scenario = Closed(*rc::gen::inRange(1, 50), *rc::gen::inRange(1, 20), 40);
    const SimulationResult run = RunOf(scenario, Recipe(), *rc::gen::inRange<uint64_t>(1, 1000));
    // From any closed tick on, the bytes written are at most the sum of: the limits since then, the bulk floor of 5 %,
    // the bytes that interactive work overdrew, and the burst. A batch of each writer may have been admitted before.
    const double burst = 0.5 * static_cast<double>(Recipe().lsm.geometry.write_buffer_bytes);
    const double under_way = kRecordBytes * kRecordsPerBatch * (scenario.parties + scenario.writers_of_first_party);
    double surplus = 0;  // bytes above the limits, since the worst beginning
    for (size_t i = 1; i < run.rows.size(); ++i) {
      const TickRow& limit = run.rows[i - 1];
      if (limit.open) {
        surplus = 0;
        continue;
      }
      const double interactive = 1.5 * kInteractivePerSecond * kRecordBytes;
      surplus = std::max(0.0, surplus + 0.1 * (run.rows[i].inflow - 1.05 * limit.limit - interactive));
      RC_ASSERT(surplus <= burst + under_way);
    }
  });
}

TEST(SimulatorProperty, ManyPartiesGetAsMuchAsOne) {
  Holds([] {
    const Scenario many = Closed(*rc::gen::inRange(2, 1000), 1, 120);
    const Scenario one = Closed(1, 1, 120);
    const double together = RunOf(many, Recipe(), 1).figures.aggregate_bytes_per_second;
    const double alone = RunOf(one, Recipe(), 1).figures.aggregate_bytes_per_second;
    // Within a minute, one compaction more or less makes 5 %.
    RC_ASSERT(std::abs(together / alone - 1) < 0.06);
  });
}

TEST(SimulatorProperty, NoPartyStarves) {
  Holds([] {
    const int parties = *rc::gen::inRange(2, 40);
    const Scenario scenario = Closed(parties, *rc::gen::inRange(1, 100), 40);
    const Figures f = RunOf(scenario, Recipe(), *rc::gen::inRange<uint64_t>(1, 1000)).figures;
    // Jain's index of n parties of which one gets nothing is at most (n − 1) / n.
    RC_ASSERT(f.jain_index > 1 - 0.5 / parties);
    RC_ASSERT(f.interactive_refused == 0);
    RC_ASSERT(f.interactive_p999_ms < 10);
  });
}

TEST(SimulatorProperty, TenPartiesShareAlikeAtAnyRatio) {
  Holds([] {
    const Scenario scenario = Closed(10, *rc::gen::inRange(1, 30), 40);
    RC_ASSERT(RunOf(scenario, Recipe(), 1).figures.jain_index >= 0.95);
  });
}

TEST(SimulatorProperty, RecoversFromAnySaturation) {
  Holds([] {
    Geometry full = Recipe();
    full.lsm.l0_files_at_start = *rc::gen::inRange<uint64_t>(0, 60);
    full.lsm.l1_at_start_bytes = 1e6 * *rc::gen::inRange(0, 200);
    const Scenario scenario = Closed(4, 1, 160);
    const SimulationResult run = RunOf(scenario, full, 1);
    // Behind L0 there may first be a debt of 400 MB to work off, at 33 MB/s with the amplification of two levels.
    const Figures& f = run.figures;
    RC_ASSERT(f.highest_level < 1.2 * f.setpoint);
    RC_ASSERT(std::abs(f.steady_error) < 0.1 * f.setpoint);
  });
}

TEST(SimulatorProperty, Deterministic) {
  Holds([] {
    const Scenario scenario = Closed(*rc::gen::inRange(1, 30), *rc::gen::inRange(1, 5), 20);
    const auto seed = *rc::gen::inRange<uint64_t>(1, 1'000'000);
    RC_ASSERT(AsCsv(RunOf(scenario, Recipe(), seed)) == AsCsv(RunOf(scenario, Recipe(), seed)));
  });
}

}  // namespace
}  // namespace weir
