#include "bench/storm/campaign.h"

#include <algorithm>
#include <cmath>

#include "bench/storm/policy.h"

namespace weir {
namespace {

constexpr double kInteractiveGoalMs = 5;

void Append(std::vector<RunKey>* all, double scale, const std::string& scenario, std::vector<std::string> policies,
            int repetition) {
  const auto first = policies.begin() + (repetition - 1) % static_cast<int>(policies.size());
  std::rotate(policies.begin(), first, policies.end());
  for (const std::string& policy : policies)
    all->push_back({.scale = scale, .scenario = scenario, .policy = policy, .repetition = repetition});
}

}  // namespace

std::vector<std::string> OracleSweep() {
  return {"static@4.5", "static@5", "static@5.5", "static@6", "static@6.5", "static@7"};
}

std::string BestOracle(const std::vector<PhaseRow>& rows, double scale) {
  const PhaseRow* best = nullptr;
  for (const PhaseRow& row : rows) {
    if (row.run.scale != scale || row.run.scenario != "burst" || row.phase != "burst" || row.outcome != "ok" ||
        row.run.policy.rfind("static@", 0) != 0 || row.run.repetition != 1 || !row.run.label.empty())
      continue;
    if (row.write_p999_ms > kInteractiveGoalMs || row.braked_seconds > 0) continue;
    if (best == nullptr || row.adjusted_bulk_mb_per_second > best->adjusted_bulk_mb_per_second) best = &row;
  }
  return best != nullptr ? best->run.policy : "";
}

std::vector<RunKey> FullCampaign(const std::string& oracle, int repetitions) {
  std::vector<std::string> everybody;
  for (const PolicyKind& kind : PolicyKinds()) {
    if (kind.name == "weir_scans") continue;  // has nothing to say where there are no long scans
    everybody.push_back(kind.name == "static" ? oracle : kind.name);
  }
  const std::vector<std::string> chosen = {"alone", "low_pri", oracle, "weir"};
  std::vector<RunKey> runs;
  for (int repetition = 1; repetition <= repetitions; ++repetition) {
    Append(&runs, 1, "burst", everybody, repetition);
    Append(&runs, 1, "cut", everybody, repetition);
    Append(&runs, 1, "open-0.95", chosen, repetition);
    Append(&runs, 1, "open-1.5", chosen, repetition);
    Append(&runs, 1, "parties", {"alone", "low_pri", "weir_one", "weir"}, repetition);
    Append(&runs, 1, "scans", {"alone", "weir", "weir_scans"}, repetition);
    Append(&runs, 4, "burst", {"alone", "low_pri", "weir"}, repetition);
    Append(&runs, 4, "cut", {"alone", "low_pri", "weir"}, repetition);
    Append(&runs, 1, "steady", chosen, repetition);
  }
  return runs;
}

std::vector<RunKey> Campaign(double scale, const std::vector<std::string>& scenarios,
                             const std::vector<std::string>& policies, int repetitions) {
  std::vector<RunKey> runs;
  for (int repetition = 1; repetition <= repetitions; ++repetition)
    for (const std::string& scenario : scenarios) Append(&runs, scale, scenario, policies, repetition);
  return runs;
}

}  // namespace weir
