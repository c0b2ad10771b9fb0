// Compares the quota stores by the rate that one caller reaches if it waits for each answer; Redis also with fifty
// calls unanswered at a time.
#pragma once

#include <filesystem>

#include "bench/measure/figure_tables.h"
#include "config/clock.h"
#include "config/status.h"

namespace weir {

struct StoreOptions {
  int repetitions = 3;
  Duration time{};                // length of each measurement
  std::filesystem::path scratch;  // directory for the files of the stores; should be on a real disk
};
Status MeasureStores(const StoreOptions& options, FigureTables* figures);

}  // namespace weir
