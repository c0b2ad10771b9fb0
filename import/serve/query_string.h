// Reads what stands behind the '?' of a URL.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/status.h"
#include "import/export/exporter.h"

namespace weir {

struct ImportQuery {
  bool verify = true;
  std::string run;    // empty: the body is all of it
  uint32_t part = 0;  // its number in the run
};
// Takes verify=true|false, run=…, part=…
Result<ImportQuery> ParseImportQuery(std::string_view query);
// Takes filter (several times), since, until, order. Checks the plan; leaves its `now_seconds` to the caller.
Result<ExportPlan> ParseExportQuery(std::string_view query, const FilterLimits& limits);

}  // namespace weir
