// From rows to tables: medians over repetitions, what the experiment set out to reach, and the verdict.
#pragma once

#include <string>
#include <vector>

#include "bench/storm/figures.h"

namespace weir {

// The judged phase of a scenario under a policy, over its repetitions.
struct Summary {
  RunKey run;  // of the first repetition
  int repetitions = 0;
  PhaseRow median, lowest, highest;  // of each figure by itself
  std::vector<std::string> failures;
};
// By scale and scenario, policies in the order in which they first occur.
std::vector<Summary> Summarise(const std::vector<PhaseRow>& rows);

// Markdown: a table for each scenario and scale.
std::string SummaryTables(const std::vector<Summary>& summaries);
std::string SummaryJson(const std::vector<Summary>& summaries);

struct Goal {
  std::string what;
  std::string wanted;
  std::string reached;  // empty: the runs for it are not there
  bool met = false;
};
// What the full experiment is to reach; `oracle` is the static policy that the sweep chose.
std::vector<Goal> Goals(const std::vector<PhaseRow>& rows, const std::string& oracle, double memory_target_mb);
// What CI insists on, of the scenario "quick".
std::vector<Goal> QuickGoals(const std::vector<PhaseRow>& rows);
std::string GoalTable(const std::vector<Goal>& goals);

}  // namespace weir
