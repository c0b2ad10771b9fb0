// The report of `weir doctor`: for people in 80 columns, and for programs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "relay/doctor/check.h"

namespace weir {

// Lists everything that was looked at, with its figures: {"disk", "./data: 76 GB free, an fsync takes 1.2 ms"}.
std::vector<std::pair<std::string, std::string>> LookedAt(const Facts& facts);

// Commands and settings stand in lines of their own, which are not broken.
std::string ToText(const std::vector<Finding>& findings, const Facts& facts);
// One object: verdict, exit_status, findings, looked_at, not_seen.
std::string ToJson(const std::vector<Finding>& findings, const Facts& facts);

}  // namespace weir
