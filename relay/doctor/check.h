// Checks: each looks for one thing that may be wrong. It is a pure function from facts to a finding, under a name that
// stays the same.
//
//   for (const Finding& finding : Examine(facts)) …   // worst first
//
// A new check is a function, and its line in the table of its file (…_checks.cc). Its words have to be right on every
// machine.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relay/doctor/facts.h"

namespace weir {

// The exit status of `weir doctor`.
enum class Severity : uint8_t {
  kFine = 0,
  kAdvice = 1,   // it could do better
  kWarning = 2,  // it will hurt under load, at a fault, or a user who relies on what is not so
  kBroken = 3,   // it does not work, or not for long
};
std::string_view NameOf(Severity severity);  // "broken"

struct Finding {
  Severity severity = Severity::kAdvice;
  std::string saw;                    // the observation, with figures
  std::string why;                    // why it matters
  std::string act;                    // the advice
  std::vector<std::string> commands;  // the advice as it is typed: commands, or settings NAME=VALUE
  std::string_view name;              // the name of the check
};

struct DoctorCheck {
  std::string_view name;
  std::optional<Finding> (*find)(const Facts& facts);
};

// The checks by what they look at.
std::span<const DoctorCheck> SettingsChecks();
std::span<const DoctorCheck> HostChecks();
std::span<const DoctorCheck> DirectoryChecks();
std::span<const DoctorCheck> RocksDbChecks();
std::span<const DoctorCheck> PostgresChecks();
std::span<const DoctorCheck> InstanceChecks();

// Returns the findings of all checks but the ignored ones, the worst first.
std::vector<Finding> Examine(const Facts& facts, const std::vector<std::string>& ignored = {});
std::vector<std::string_view> CheckNames();
Severity Worst(const std::vector<Finding>& findings);

}  // namespace weir
