// Measures the server's cost of a request to `weir gate`, by limiter, version of HTTP and generator; and how long a
// quiet key waits while another is flooded.
#pragma once

#include <filesystem>
#include <string>

#include "bench/measure/figure_tables.h"
#include "config/status.h"

namespace weir {

struct OverHttpLoad {
  int repetitions = 5;
  double seconds = 1;  // about the length of each measurement
  std::filesystem::path scratch;
  std::string server;  // the command, with {port} and {config}
};
Status MeasureLimitersOverHttp(const OverHttpLoad& load, FigureTables* figures);

}  // namespace weir
