// Makes the tables that the READMEs show.
#pragma once

#include <string>
#include <string_view>

#include "bench/simulator/scenario.h"
#include "throttle/limiter_settings.h"

namespace weir {

// Returns a table of every scenario under every law.
std::string BakeOffTable(const Geometry& geometry, const LimiterSettings& settings);

// Returns a table of the effect of a higher value of each gain of bulk work.
std::string TuningTable(const Geometry& geometry, const LimiterSettings& settings);

// The result of bulk work for some time. SustainedByWeir runs it under weir for `seconds` seconds;
// SustainedByBestFixedRate runs it under the highest fixed rate, within 2 %, with which the engine never brakes.
struct Sustained {
  double bytes_per_second = 0;
  double adjusted_bytes_per_second = 0;  // the same bytes, divided by the time until the compactions have caught up
  double stalled_seconds = 0;
  double tree_bytes = 0;  // bytes in all files at the end
};
Sustained SustainedByWeir(const Geometry& geometry, const LimiterSettings& settings, double seconds);
Sustained SustainedByBestFixedRate(const Geometry& geometry, const LimiterSettings& settings, double seconds);
// Returns a table for one, ten and sixty minutes of bulk work, for a geometry whose data grows.
std::string GrowthTable(const Geometry& geometry, const LimiterSettings& settings);

}  // namespace weir
