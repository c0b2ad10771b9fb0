// Measures the cost of a decision of each limiter (quota, key, endpoint), by one thread and by two. All state is in the
// memory of this process.
#pragma once

#include "bench/measure/figure_tables.h"
#include "config/clock.h"

namespace weir {

struct InProcessLoad {
  int repetitions = 5;
  Duration time{};  // length of each measurement
};
void MeasureLimitersInProcess(const InProcessLoad& load, FigureTables* figures);

}  // namespace weir
