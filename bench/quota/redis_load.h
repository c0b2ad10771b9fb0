// Measures decisions a second through RedisQuotaStore, against redis-benchmark with the same EVALSHA and server.
#pragma once

#include <filesystem>

#include "bench/measure/figure_tables.h"
#include "config/clock.h"
#include "config/status.h"

namespace weir {

struct RedisLoadOptions {
  int repetitions = 5;
  Duration time{};  // about the length of each measurement
  std::filesystem::path scratch;
};
Status MeasureRedisLoad(const RedisLoadOptions& options, FigureTables* figures);

}  // namespace weir
