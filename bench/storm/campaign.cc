#include "bench/storm/campaign.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>

#include "bench/storm/policy.h"
#include "bench/storm/scenario.h"
#include "config/text/parse.h"

namespace weir {
namespace {

constexpr const char* kSweep = "sweep";
constexpr const char* kShapeScenario = "shape";

void Append(std::vector<RunKey>* all, double scale, const std::string& scenario, std::vector<std::string> policies,
            int repetition, const std::string& shape = RunKey{}.shape) {
  const auto first = policies.begin() + (repetition - 1) % static_cast<int>(policies.size());
  std::rotate(policies.begin(), first, policies.end());
  for (const std::string& policy : policies)
    all->push_back({.shape = shape, .scale = scale, .scenario = scenario, .policy = policy, .repetition = repetition});
}

// Returns true if the phase ended well and is the judged phase of its scenario.
bool IsJudged(const PhaseRow& row) {
  const StormScenario* scenario = FindStormScenario(row.run.scenario);
  return row.outcome == "ok" && scenario != nullptr && scenario->judged_phase == row.phase;
}

// Returns NaN if no row has a finite value.
double Median(const std::vector<PhaseRow>& rows, double PhaseRow::*figure) {
  std::vector<double> values;
  for (const PhaseRow& row : rows)
    if (std::isfinite(row.*figure)) values.push_back(row.*figure);
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

}  // namespace

std::vector<RunKey> OracleSweep(int repetitions) {
  std::vector<RunKey> runs = Campaign(
      1, {"burst"}, {{.policies = {"static@6", "static@6.5", "static@7", "static@7.5", "static@8", "static@8.5"}}},
      repetitions);
  for (RunKey& run : runs) run.label = kSweep;
  return runs;
}

OracleRule ShapeOracle(const std::string& shape) {
  return {.shape = shape, .scenario = kShapeScenario, .write_p999_ms = 10};
}

std::optional<RunKey> NextOfShapeSweep(const std::vector<PhaseRow>& rows, const std::string& shape) {
  std::vector<PhaseRow> alone;
  for (const PhaseRow& row : rows)
    if (row.run.shape == shape && row.run.scenario == kShapeScenario && row.run.policy == "alone" &&
        row.run.label.empty() && IsJudged(row))
      alone.push_back(row);
  const double unlimited = Median(alone, &PhaseRow::bulk_mb_per_second);
  if (!(unlimited > 0)) return std::nullopt;
  for (int tenths = 10, last = 0; tenths >= 4 && tenths <= 16;) {
    const double rate = std::round(tenths * unlimited * 10) / 100;
    RunKey run{.shape = shape, .scenario = kShapeScenario, .policy = "static@" + FormatNumber(rate), .label = kSweep};
    std::vector<PhaseRow> tried;
    std::ranges::copy_if(rows, std::back_inserter(tried), [&](const PhaseRow& row) { return row.run == run; });
    if (tried.empty()) return run;
    const int step = BestOracle(tried, ShapeOracle(shape)).empty() ? -1 : 1;
    if (step == -last) return std::nullopt;
    last = step;
    tenths += step;
  }
  return std::nullopt;
}

std::string BestOracle(const std::vector<PhaseRow>& rows, const OracleRule& rule) {
  std::map<std::string, std::vector<PhaseRow>> swept;
  for (const PhaseRow& row : rows)
    if (row.run.label == kSweep && row.run.shape == rule.shape && row.run.scenario == rule.scenario &&
        row.run.policy != "alone" && IsJudged(row))
      swept[row.run.policy].push_back(row);
  std::string best;
  double most = 0;
  for (const auto& [policy, runs] : swept) {
    // A figure that is NaN meets no condition.
    const bool held = std::all_of(runs.begin(), runs.end(), [&](const PhaseRow& row) {
      return row.braked_seconds <= 0 && row.highest_level <= rule.highest_level;
    });
    if (!held || !(Median(runs, &PhaseRow::write_p999_ms) <= rule.write_p999_ms)) continue;
    const double bulk = Median(runs, &PhaseRow::adjusted_bulk_mb_per_second);
    if (!(bulk > most)) continue;
    most = bulk;
    best = policy;
  }
  return best;
}

double SustainedRate(const std::vector<PhaseRow>& rows) {
  std::vector<PhaseRow> steady;
  for (const PhaseRow& row : rows)
    if (row.run.shape == RunKey{}.shape && row.run.scale == 1 && row.run.scenario == "steady" &&
        row.run.policy == "weir" && row.run.label.empty() && IsJudged(row))
      steady.push_back(row);
  return Median(steady, &PhaseRow::bulk_mb_per_second);
}

std::vector<RunKey> FullCampaign(const std::string& oracle, int repetitions) {
  std::vector<std::string> everybody;
  for (const PolicyKind& kind : PolicyKinds()) everybody.push_back(kind.name == "static" ? oracle : kind.name);
  // The tuner of "auto_tuned" keeps the full rate of the disk as its upper bound, even while the disk is slower.
  std::vector<std::string> in_the_cut = everybody;
  std::erase(in_the_cut, "auto_tuned");
  const std::vector<std::string> chosen = {"weir", "alone", "low_pri", oracle};
  std::vector<RunKey> runs;
  Append(&runs, 1, "steady", chosen, 1);
  for (int repetition = 1; repetition <= repetitions; ++repetition) {
    Append(&runs, 1, "burst", everybody, repetition);
    Append(&runs, 1, "cut", in_the_cut, repetition);
    Append(&runs, 1, "open-0.95", chosen, repetition);
    Append(&runs, 1, "open-1.5", chosen, repetition);
    Append(&runs, 1, "parties", {"alone", "low_pri", "weir_one", "weir"}, repetition);
    Append(&runs, 1, "scans", {"alone", "weir"}, repetition);
    Append(&runs, 4, "burst", {"alone", "low_pri", "weir"}, repetition);
    Append(&runs, 4, "cut", {"alone", "low_pri", "weir"}, repetition);
  }
  Append(&runs, 1, "burst",
         {"weir@0.5", "weir@0.85", "weir@1", "alone@8", "alone@20", "no_slowdown@8", "buffer_stall@8",
          "buffer_stall@32", "plan@0.3", "plan@0.5", "static@5", "static@6", "static@9"},
         1);
  return runs;
}

std::vector<RunKey> Campaign(double scale, const std::vector<std::string>& scenarios,
                             const std::vector<ShapePolicies>& shapes, int repetitions) {
  std::vector<RunKey> runs;
  for (int repetition = 1; repetition <= repetitions; ++repetition)
    for (const std::string& scenario : scenarios)
      for (const ShapePolicies& s : shapes) Append(&runs, scale, scenario, s.policies, repetition, s.shape);
  return runs;
}

}  // namespace weir
