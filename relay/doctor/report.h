// Makes the report of `weir doctor`, as text in 80 columns for people or as JSON for programs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "relay/doctor/check.h"

namespace weir {

// Returns a line about each thing that weir doctor has looked at, as its label and its figures: {"disk", "the events in
// ./data: 76 GB free of 98 GB, …"}.
std::vector<std::pair<std::string, std::string>> LookedAt(const Facts& facts);

// Returns the report for people. Each command or setting is on a line of its own, which may be longer than 80 columns.
std::string ToText(const std::vector<Finding>& findings, const Facts& facts);
// Returns one JSON object with the members verdict, exit_status, findings, looked_at and not_seen.
std::string ToJson(const std::vector<Finding>& findings, const Facts& facts);

}  // namespace weir
