#include "bench/storm/campaign.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "bench/storm/policy.h"
#include "bench/storm/scenario.h"

namespace weir {
namespace {

PhaseRow Swept(const std::string& policy, double p999_ms, double adjusted, double braked_seconds = 0,
               double highest_level = 0.9) {
  PhaseRow row{.run = {.scenario = "burst", .policy = policy, .label = "sweep"}, .phase = "burst"};
  row.write_p999_ms = p999_ms;
  row.adjusted_bulk_mb_per_second = adjusted;
  row.braked_seconds = braked_seconds;
  row.highest_level = highest_level;
  return row;
}

TEST(Campaign, OracleIsTheFastestRateThatKeepsInteractiveWorkFast) {
  EXPECT_EQ(BestOracle({Swept("static@5", 2, 5), Swept("static@6", 3, 5.9), Swept("static@7", 50, 6.8),
                        Swept("static@6.5", 4, 6.4, 0.1), Swept("static@6.6", 4, 6.5, 0, 1.1)}),
            "static@6");
  EXPECT_EQ(BestOracle({Swept("static@5", 9, 5)}), "");
}

TEST(Campaign, AShapeHasASweepAroundWhatRocksDbAloneGetsThereAndAnOracleOfItsOwn) {
  PhaseRow alone = Swept("alone", 900, 10);
  alone.run.shape = "blobs";
  alone.run.scenario = "shape";
  std::vector<PhaseRow> rows = {alone, Swept("static@99", 1, 99)};
  std::vector<double> rates;
  for (const RunKey& run : ShapeSweep(rows, "blobs")) {
    EXPECT_TRUE(MakePolicy(run.policy, {}, {}).ok()) << run.policy;
    rates.push_back(std::stod(run.policy.substr(run.policy.find('@') + 1)));
    PhaseRow& row = rows.emplace_back(Swept(run.policy, rates.back() <= 9.5 ? 8 : 80, rates.back(), 0, 1.5));
    row.run.shape = run.shape;
    row.run.scenario = run.scenario;
  }
  EXPECT_LT(*std::min_element(rates.begin(), rates.end()), 8);
  EXPECT_GT(*std::max_element(rates.begin(), rates.end()), 11);
  EXPECT_EQ(BestOracle(rows, ShapeOracle("blobs")), "static@9.5");
  EXPECT_EQ(BestOracle(rows), "static@99");
  EXPECT_TRUE(ShapeSweep(rows, "deep").empty());
}

TEST(Campaign, RepetitionsAreInterleavedAndBeginWithAnotherPolicyEachTime) {
  const std::vector<RunKey> runs = Campaign(1, {"burst"}, {{.policies = {"alone", "weir"}}}, 2);
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs[0].policy, "alone");
  EXPECT_EQ(runs[1].policy, "weir");
  EXPECT_EQ(runs[2].policy, "weir");
  EXPECT_EQ(runs[2].repetition, 2);
}

TEST(Campaign, FullFormHasEveryPolicyAndOnlyKnownNames) {
  std::set<std::string> policies;
  std::set<std::tuple<double, std::string, std::string, int>> seen;
  for (const RunKey& run : FullCampaign("static@5.5", 3)) {
    EXPECT_NE(FindStormScenario(run.scenario), nullptr) << run.scenario;
    EXPECT_TRUE(MakePolicy(run.policy, {}, {}).ok()) << run.policy;
    EXPECT_TRUE(seen.emplace(run.scale, run.scenario, run.policy, run.repetition).second) << RunName(run);
    if (run.scale == 1) policies.insert(run.policy.substr(0, run.policy.find('@')));
  }
  for (const PolicyKind& kind : PolicyKinds()) EXPECT_TRUE(policies.contains(kind.name)) << kind.name;
}

TEST(Campaign, EveryScenarioHasThePhaseItIsJudgedBy) {
  for (const StormScenario& s : StormScenarios()) {
    bool found = false;
    for (const StormPhase& phase : s.phases) found = found || phase.name == s.judged_phase;
    EXPECT_TRUE(found) << s.name;
  }
}

}  // namespace
}  // namespace weir
