// Compares the stores as one caller sees them, and as fifty at once see Redis.
#pragma once

#include <filesystem>

#include "bench/measure/figure_tables.h"
#include "config/clock.h"
#include "config/status.h"

namespace weir {

struct StoreOptions {
  int repetitions = 3;
  Duration time{};                // length of each measurement
  std::filesystem::path scratch;  // for the files, on a real disk
};
Status MeasureStores(const StoreOptions& options, FigureTables* figures);

}  // namespace weir
