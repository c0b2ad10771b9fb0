// What a request to `weir gate` costs the server, by limiter, version of HTTP and generator; and how long a key that
// nobody floods waits while another is flooded.
#pragma once

#include <filesystem>
#include <string>

#include "bench/measure/figure_tables.h"
#include "config/status.h"

namespace weir {

struct OverHttpLoad {
  int repetitions = 5;
  double seconds = 1;  // of each measurement, about
  std::filesystem::path scratch;
  std::string server;  // the command, with {port} and {config}
};
Status MeasureLimitersOverHttp(const OverHttpLoad& load, FigureTables* figures);

}  // namespace weir
