// Measures the cost of a decision in this process's memory: by operation, threads, entries in the windows and models.
#pragma once

#include "bench/measure/figure_tables.h"
#include "config/clock.h"
#include "config/status.h"

namespace weir {

struct InProcessOptions {
  int repetitions = 3;
  Duration time{};  // length of each measurement
};
Status MeasureInProcess(const InProcessOptions& options, FigureTables* figures);

}  // namespace weir
