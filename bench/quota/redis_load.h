// Measures the decisions per second of RedisQuotaStore and of redis-benchmark, which sends the same EVALSHA to the same
// server.
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
