#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "relay/plugins/policy_plugin.h"

namespace weir {

void AppendPluginMetrics(const std::vector<PolicyPlugin*>& plugins, MetricFamilies& families) {
  constexpr std::array<std::string_view, kPluginActions> kActions = {"accept", "reject", "shadow_reject"};
  constexpr std::array<std::string_view, kPluginFaults> kFaults = {"start", "ended", "timeout", "garbage", "unasked"};
  std::vector<std::pair<std::string_view, PluginStats>> all;
  for (const PolicyPlugin* plugin : plugins) all.emplace_back(plugin->name(), plugin->Stats());
  families.Counter("weir_plugin_answers_total", "Answers of a policy plugin, by what they decide");
  for (const auto& [name, s] : all)
    for (size_t i = 0; i < kActions.size(); ++i)
      families.Add(s.answers[i], {{"plugin", name}, {"action", kActions[i]}});
  families.Counter("weir_plugin_unanswered_total", "Questions that a policy plugin did not answer");
  for (const auto& [name, s] : all) families.Add(s.unanswered, {{"plugin", name}});
  families.Counter("weir_plugin_faults_total", "Faults of a policy plugin");
  for (const auto& [name, s] : all)
    for (size_t i = 0; i < kFaults.size(); ++i) families.Add(s.faults[i], {{"plugin", name}, {"fault", kFaults[i]}});
  families.Counter("weir_plugin_starts_total", "Processes of a policy plugin that were started");
  for (const auto& [name, s] : all) families.Add(s.starts, {{"plugin", name}});
  families.Gauge("weir_plugin_processes", "Processes of a policy plugin that take questions");
  for (const auto& [name, s] : all) families.Add(s.processes, {{"plugin", name}});
  families.Gauge("weir_plugin_questions", "Questions to a policy plugin that are under way");
  for (const auto& [name, s] : all) families.Add(s.under_way, {{"plugin", name}});
  families.Histogram("weir_plugin_answer_seconds", "Time from a question to the answer of a policy plugin");
  for (const auto& [name, s] : all) families.Add(s.latency, {{"plugin", name}});
}

}  // namespace weir
