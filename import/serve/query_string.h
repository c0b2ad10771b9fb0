// What stands behind the '?' of a URL.
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
  uint32_t part = 0;  // of the run
};
// verify=true|false, run=…, part=…
Result<ImportQuery> ParseImportQuery(std::string_view query);
// filter (several times), since, until, order. The plan is checked; its `now_seconds` is left to the caller.
Result<ExportPlan> ParseExportQuery(std::string_view query, const FilterLimits& limits);

}  // namespace weir
