// Measures the cost of a decision about quotas that are in this process's memory, for several operations and numbers of
// threads, of entries in the windows and of models.
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
