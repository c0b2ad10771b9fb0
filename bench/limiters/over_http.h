// Measures what a request to `weir gate` costs the server, for each limiter, version of HTTP and generator. Also
// measures how long a key with few requests waits while another key gets very many.
#pragma once

#include <filesystem>
#include <string>

#include "bench/measure/figure_tables.h"
#include "config/status.h"

namespace weir {

struct OverHttpLoad {
  int repetitions = 5;
  double seconds = 1;  // approximate length of each measurement
  std::filesystem::path scratch;
  std::string server;  // the server's command, in which {port} and {config} are replaced
};
Status MeasureLimitersOverHttp(const OverHttpLoad& load, FigureTables* figures);

}  // namespace weir
