#include "bench/storm/campaign.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

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

// An engine that did not settle has no adjusted bulk rate.
TEST(Campaign, ARateWithAMissingFigureIsNoOracle) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const PhaseRow good = Swept("static@6", 3, 5.9);
  EXPECT_EQ(BestOracle({Swept("static@5", 2, kNan), good, Swept("static@7", 2, kNan)}), "static@6");
  EXPECT_EQ(BestOracle({good, Swept("static@7", kNan, 6.8)}), "static@6");
  EXPECT_EQ(BestOracle({good, Swept("static@7", 2, 6.8, kNan)}), "static@6");
  EXPECT_EQ(BestOracle({good, Swept("static@7", 2, 6.8, 0, kNan)}), "static@6");
  EXPECT_EQ(BestOracle({Swept("static@7", 2, kNan)}), "");
}

TEST(Campaign, SweepsAShapeFromTheRateOfRocksDbAloneToItsOracle) {
  PhaseRow alone{.run = {.shape = "blobs", .scenario = "shape", .policy = "alone"}, .phase = "burst", .outcome = "ok"};
  std::vector<PhaseRow> rows = {Swept("static@99", 1, 99)};
  EXPECT_FALSE(NextOfShapeSweep(rows, "blobs"));
  alone.bulk_mb_per_second = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(NextOfShapeSweep({alone}, "blobs"));
  alone.bulk_mb_per_second = 10;
  rows.push_back(alone);
  EXPECT_FALSE(NextOfShapeSweep(rows, "deep"));
  const auto tried = [&](double fastest_good) {
    std::vector<PhaseRow> known = rows;
    std::vector<std::string> policies;
    while (const std::optional<RunKey> next = NextOfShapeSweep(known, "blobs")) {
      EXPECT_TRUE(MakePolicy(next->policy, {}, {}).ok()) << next->policy;
      policies.push_back(next->policy);
      const double rate = std::stod(next->policy.substr(next->policy.find('@') + 1));
      known.push_back(Swept(next->policy, rate <= fastest_good ? 8 : 80, rate));
      known.back().run = *next;
    }
    return std::pair(policies, BestOracle(known, ShapeOracle("blobs")));
  };
  using Rates = std::vector<std::string>;
  EXPECT_EQ(tried(11.5), std::pair(Rates({"static@10", "static@11", "static@12"}), std::string("static@11")));
  EXPECT_EQ(tried(8.5), std::pair(Rates({"static@10", "static@9", "static@8"}), std::string("static@8")));
  EXPECT_EQ(tried(99).second, "static@16");
  EXPECT_EQ(tried(1).second, "");
  EXPECT_EQ(BestOracle(rows), "static@99");
}

TEST(Campaign, InterleavesRepetitionsAndRotatesTheFirstPolicy) {
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
