// Measures the cost of a decision of each limiter with its state in this process's memory, by one thread and by two.
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
