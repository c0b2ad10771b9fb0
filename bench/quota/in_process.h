// Measures the cost of a quota decision in the memory store of this process. The operation, the number of threads, the
// number of models and the number of entries in each window vary.
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
