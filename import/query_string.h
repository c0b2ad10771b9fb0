// What stands behind the '?' of a URL.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/status.h"
#include "import/exporter.h"

namespace weir {

// In their order, decoded: %20 and + are a space. The error says where it is not well-formed.
Result<std::vector<std::pair<std::string, std::string>>> ParseQuery(std::string_view query);

// verify=true|false; true where nothing is said.
Result<bool> ParseImportQuery(std::string_view query);
// filter (several times), since, until, order. The plan is checked; its `now_seconds` is left to the caller.
Result<ExportPlan> ParseExportQuery(std::string_view query, const FilterLimits& limits);

}  // namespace weir
