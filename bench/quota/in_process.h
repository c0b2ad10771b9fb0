// What a decision costs in this process's memory: by what is asked, by threads, by what is in the windows, by models.
#pragma once

#include "bench/measure/figure_tables.h"
#include "config/clock.h"
#include "config/status.h"

namespace weir {

struct InProcessOptions {
  int repetitions = 3;
  Duration time{};  // of each measurement
};
Status MeasureInProcess(const InProcessOptions& options, FigureTables* figures);

}  // namespace weir
