#include "relay/doctor/check.h"

#include <algorithm>
#include <array>

namespace weir {
namespace {

std::array<std::span<const DoctorCheck>, 6> AllChecks() {
  return {SettingsChecks(), HostChecks(), DirectoryChecks(), RocksDbChecks(), PostgresChecks(), InstanceChecks()};
}

}  // namespace

std::string_view NameOf(Severity severity) {
  constexpr std::array<std::string_view, 4> kNames = {"fine", "advice", "warning", "broken"};
  return kNames[static_cast<size_t>(severity)];
}

std::vector<Finding> Examine(const Facts& facts, const std::vector<std::string>& ignored) {
  std::vector<Finding> findings;
  for (const std::span<const DoctorCheck> checks : AllChecks()) {
    for (const DoctorCheck& check : checks) {
      if (std::ranges::find(ignored, check.name) != ignored.end()) continue;
      std::optional<Finding> finding = check.find(facts);
      if (!finding) continue;
      finding->name = check.name;
      findings.push_back(*std::move(finding));
    }
  }
  std::ranges::stable_sort(findings, std::ranges::greater(), &Finding::severity);
  return findings;
}

std::vector<std::string_view> CheckNames() {
  std::vector<std::string_view> names;
  for (const std::span<const DoctorCheck> checks : AllChecks())
    for (const DoctorCheck& check : checks) names.push_back(check.name);
  return names;
}

Severity Worst(const std::vector<Finding>& findings) {
  return findings.empty() ? Severity::kFine : std::ranges::max(findings, {}, &Finding::severity).severity;
}

}  // namespace weir
