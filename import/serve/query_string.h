// Reads the queries of the URLs of imports and exports (import_service.h).
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
  std::string run;    // name of the run; empty: the body is the whole import
  uint32_t part = 0;  // number of the part in the run
};
// Reads verify=true|false, run=… (1 to 64 bytes) and part=…. Returns an error for anything else, or for a part above 0
// without a run.
Result<ImportQuery> ParseImportQuery(std::string_view query);
// Reads `filter`, which may occur several times, `since`, `until`, `since_serial` and `order`. Returns an error for
// anything else, or if Check refuses the plan (import/export/exporter.h). The caller sets the plan's `now_seconds`.
Result<ExportPlan> ParseExportQuery(std::string_view query, const FilterLimits& limits);

}  // namespace weir
