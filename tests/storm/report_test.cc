#include "bench/storm/report.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weir {
namespace {

PhaseRow Row(const std::string& scenario, const std::string& policy, int repetition, double p999_ms, double adjusted,
             double scale = 1) {
  PhaseRow row{.run = {.scale = scale, .scenario = scenario, .policy = policy, .repetition = repetition},
               .phase = scenario};
  row.write_p999_ms = p999_ms;
  row.adjusted_bulk_mb_per_second = adjusted;
  row.peak_memory_mb = 90 * scale;
  row.seconds = 60;
  row.writes = 12'000;
  return row;
}

const Goal& GoalNamed(const std::vector<Goal>& goals, const std::string& part) {
  const auto goal =
      std::find_if(goals.begin(), goals.end(), [&](const Goal& g) { return g.what.find(part) != std::string::npos; });
  EXPECT_NE(goal, goals.end()) << part;
  return *goal;
}

TEST(Report, TakesMedianAndRangeOverRepetitionsOfTheJudgedPhase) {
  PhaseRow calm = Row("burst", "weir", 1, 900, 9);
  calm.phase = "calm";
  const std::vector<Summary> all =
      Summarise({calm, Row("burst", "weir", 1, 4, 5), Row("burst", "weir", 2, 2, 7), Row("burst", "weir", 3, 9, 6)});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].repetitions, 3);
  EXPECT_EQ(all[0].median.write_p999_ms, 4);
  EXPECT_EQ(all[0].lowest.write_p999_ms, 2);
  EXPECT_EQ(all[0].highest.write_p999_ms, 9);
  EXPECT_EQ(all[0].median.adjusted_bulk_mb_per_second, 6);
}

TEST(Report, EvenNumberOfRunsHasTheMiddleBetweenTwo) {
  const std::vector<Summary> all = Summarise({Row("burst", "weir", 1, 4, 5), Row("burst", "weir", 2, 2, 5)});
  EXPECT_EQ(all[0].median.write_p999_ms, 3);
}

TEST(Report, RunThatAbortedCountsAsFailureNotAsFigures) {
  PhaseRow aborted = Row("burst", "low_pri", 2, 0, 0);
  aborted.outcome = "aborted";
  const std::vector<Summary> all = Summarise({Row("burst", "low_pri", 1, 4, 5), aborted});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].repetitions, 1);
  EXPECT_EQ(all[0].median.write_p999_ms, 4);
  EXPECT_EQ(all[0].failures, std::vector<std::string>{"aborted"});
  EXPECT_NE(SummaryTables(all).find("1 aborted"), std::string::npos);
}

TEST(Report, ExperimentsWithALabelStandBesideTheirPolicyAndCountForNoGoal) {
  PhaseRow tried = Row("burst", "weir", 1, 1000, 1);
  tried.run.label = "KP=9";
  const std::vector<PhaseRow> rows = {Row("burst", "weir", 1, 4, 5), tried, Row("burst", "alone", 1, 1000, 5)};
  EXPECT_EQ(Summarise(rows).size(), 3u);
  EXPECT_TRUE(GoalNamed(Goals(rows, "static@5", 134), "burst: interactive").met);
}

TEST(Report, GoalsAreMetNotMetOrNotRun) {
  const std::vector<Goal> goals =
      Goals({Row("burst", "weir", 1, 4, 5.4), Row("burst", "alone", 1, 799, 6), Row("burst", "low_pri", 1, 3, 5),
             Row("burst", "static@5.5", 1, 3, 5.6), Row("burst", "weir", 1, 4, 5, 4)},
            "static@5.5", 134);
  const Goal& latency = GoalNamed(goals, "burst: interactive");
  EXPECT_FALSE(latency.met);  // 1/199.75
  EXPECT_NE(latency.reached.find("1/200"), std::string::npos) << latency.reached;
  EXPECT_TRUE(GoalNamed(goals, "burst: debt-adjusted bulk against low_pri").met);         // +8.0
  EXPECT_FALSE(GoalNamed(goals, "burst: debt-adjusted bulk against RocksDB alone").met);  // -10
  EXPECT_TRUE(GoalNamed(goals, "burst: debt-adjusted bulk against the oracle").met);      // -3.6
  EXPECT_EQ(GoalNamed(goals, "cut: interactive").reached, "");
  EXPECT_FALSE(GoalNamed(goals, "cut: interactive").met);
  EXPECT_TRUE(GoalNamed(goals, "memory").met);  // 360 MB at scale 4
  EXPECT_NE(GoalTable(goals).find("not run"), std::string::npos);
}

// In any phase, not only in that which is judged.
TEST(Report, OneStallInOneRunMissesTheGoal) {
  PhaseRow stalled = Row("burst", "weir", 2, 4, 5);
  stalled.phase = "calm";
  stalled.braked_seconds = 0.1;
  EXPECT_FALSE(GoalNamed(Goals({Row("burst", "weir", 1, 4, 5), stalled}, "", 134), "engine slowed").met);
}

struct QuickCase {
  const char* name;
  double alone_ms = 200;
  double braked_seconds = 0;
  double escapes = 0;
  double refused = 0;
  double writes = 12'000;
  bool aborted = false;
  bool met = false;
};

class QuickForm : public testing::TestWithParam<QuickCase> {};

TEST_P(QuickForm, WantsTwentyTimesAndNoStallAndAnAnswerForEverybody) {
  const QuickCase& c = GetParam();
  PhaseRow weir = Row("quick", "weir", 1, 10, 0);
  PhaseRow alone = Row("quick", "alone", 1, c.alone_ms, 0);
  weir.phase = alone.phase = "burst";
  weir.braked_seconds = c.braked_seconds;
  weir.escapes = c.escapes;
  weir.refused = c.refused;
  weir.writes = c.writes;
  std::vector<PhaseRow> rows = {weir, alone};
  if (c.aborted) {
    rows.push_back(weir);
    rows.back().outcome = "aborted";
  }
  const std::vector<Goal> goals = QuickGoals(rows);
  EXPECT_EQ(std::all_of(goals.begin(), goals.end(), [](const Goal& g) { return g.met; }), c.met);
}

INSTANTIATE_TEST_SUITE_P(
    Of, QuickForm,
    testing::Values(QuickCase{.name = "well", .met = true}, QuickCase{.name = "too_slow", .alone_ms = 199},
                    QuickCase{.name = "stalled", .braked_seconds = 0.02}, QuickCase{.name = "unseen", .escapes = 1},
                    QuickCase{.name = "refused", .refused = 1}, QuickCase{.name = "silent", .writes = 9000},
                    QuickCase{.name = "aborted", .aborted = true}),
    [](const auto& i) { return i.param.name; });

TEST(Report, QuickFormThatDidNotRunIsNotMet) {
  for (const Goal& goal : QuickGoals({})) EXPECT_FALSE(goal.met);
}

}  // namespace
}  // namespace weir
