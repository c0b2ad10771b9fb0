// The checks of `weir doctor`. Each check looks for one problem: it is a pure function that takes the facts (facts.h)
// and returns a finding or nothing. The name of a check never changes.
//
//   for (const Finding& finding : Examine(facts)) …   // worst first
//
// To add a check, write its function and add a line to the table in its file (…_checks.cc). The text of its finding
// must be true on every machine.
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
  kWarning = 2,  // under load or after a fault there will be harm, or users rely on something that is not so
  kBroken = 3,   // something does not work, or will soon stop working
};
std::string_view NameOf(Severity severity);  // "fine", "advice", "warning", "broken"

struct Finding {
  Severity severity = Severity::kAdvice;
  std::string saw;                    // the observation, with figures
  std::string why;                    // why it matters
  std::string act;                    // the advice
  std::vector<std::string> commands;  // the advice as shell commands, SQL or settings NAME=VALUE
  std::string_view name;              // the name of the check; Examine sets this member
};

struct DoctorCheck {
  std::string_view name;
  std::optional<Finding> (*find)(const Facts& facts);  // returns nullopt if nothing is wrong
};

// Each of these functions returns the checks of one file.
std::span<const DoctorCheck> SettingsChecks();
std::span<const DoctorCheck> HostChecks();
std::span<const DoctorCheck> DirectoryChecks();
std::span<const DoctorCheck> RocksDbChecks();
std::span<const DoctorCheck> PostgresChecks();
std::span<const DoctorCheck> InstanceChecks();

// Runs all checks except those whose names are in `ignored`. Returns their findings, the worst first.
std::vector<Finding> Examine(const Facts& facts, const std::vector<std::string>& ignored = {});
// Returns the names of all checks.
std::vector<std::string_view> CheckNames();
// Returns the worst severity among the findings; kFine if there are none.
Severity Worst(const std::vector<Finding>& findings);

}  // namespace weir
