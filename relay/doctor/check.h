// The checks of `weir doctor`. Each check looks for one thing that may be wrong: it is a pure function from the facts
// (facts.h) to a finding, and has a name that never changes.
//
//   for (const Finding& finding : Examine(facts)) …   // worst first
//
// To add a check, write its function and add a line to the table of its file (…_checks.cc). Its text must be true on
// every machine.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relay/doctor/facts.h"

namespace weir {

// How severe a finding is. The number of the worst severity is the exit status of `weir doctor`.
enum class Severity : uint8_t {
  kFine = 0,
  kAdvice = 1,   // a change would make something better
  kWarning = 2,  // harm will come under load, after a fault, or to a user who relies on something that does not hold
  kBroken = 3,   // something does not work, or will soon not work
};
std::string_view NameOf(Severity severity);  // "fine", "advice", "warning", "broken"

struct Finding {
  Severity severity = Severity::kAdvice;
  std::string saw;                    // the observation, with figures
  std::string why;                    // why it matters
  std::string act;                    // the advice
  std::vector<std::string> commands;  // the advice in a form to type: commands, or settings NAME=VALUE
  std::string_view name;              // the name of the check; Examine sets it
};

struct DoctorCheck {
  std::string_view name;
  std::optional<Finding> (*find)(const Facts& facts);  // returns nullopt if nothing is wrong
};

// Each function returns the checks that look at one kind of facts.
std::span<const DoctorCheck> SettingsChecks();
std::span<const DoctorCheck> HostChecks();
std::span<const DoctorCheck> DirectoryChecks();
std::span<const DoctorCheck> RocksDbChecks();
std::span<const DoctorCheck> PostgresChecks();
std::span<const DoctorCheck> InstanceChecks();

// Runs all checks except those that `ignored` names, and returns their findings, the worst first.
std::vector<Finding> Examine(const Facts& facts, const std::vector<std::string>& ignored = {});
// Returns the names of all checks.
std::vector<std::string_view> CheckNames();
// Returns the worst severity among the findings; kFine if there are none.
Severity Worst(const std::vector<Finding>& findings);

}  // namespace weir
