// Decisions a second through RedisQuotaStore, against redis-benchmark that runs the same EVALSHA on the same server.
#pragma once

#include <filesystem>

#include "bench/measure/figure_tables.h"
#include "config/clock.h"
#include "config/status.h"

namespace weir {

struct RedisLoadOptions {
  int repetitions = 5;
  Duration time{};  // of each measurement, about
  std::filesystem::path scratch;
};
Status MeasureRedisLoad(const RedisLoadOptions& options, FigureTables* figures);

}  // namespace weir
