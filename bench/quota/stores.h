// Compares the quota stores by the latency that one caller sees, and Redis also with fifty callers at once.
#pragma once

#include <filesystem>

#include "bench/measure/figure_tables.h"
#include "config/clock.h"
#include "config/status.h"

namespace weir {

struct StoreOptions {
  int repetitions = 3;
  Duration time{};                // length of each measurement
  std::filesystem::path scratch;  // directory for the files of the stores, on a real disk
};
Status MeasureStores(const StoreOptions& options, FigureTables* figures);

}  // namespace weir
