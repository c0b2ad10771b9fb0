// Measures how many decisions a second RedisQuotaStore makes, and how many redis-benchmark makes with the same EVALSHA
// on the same server.
#pragma once

#include <filesystem>

#include "bench/measure/figure_tables.h"
#include "config/clock.h"
#include "config/status.h"

namespace weir {

struct RedisLoadOptions {
  int repetitions = 5;
  Duration time{};  // approximate length of each measurement
  std::filesystem::path scratch;
};
Status MeasureRedisLoad(const RedisLoadOptions& options, FigureTables* figures);

}  // namespace weir
