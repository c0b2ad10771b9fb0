// Makes the tables of the READMEs, for the command that these name.
#pragma once

#include <string>
#include <string_view>

#include "bench/simulator/scenario.h"
#include "throttle/limiter_settings.h"

namespace weir {

// Shows every scenario under every law.
std::string BakeOffTable(const Geometry& geometry, const LimiterSettings& settings);

// Shows what each of the bulk gains does when it is raised.
std::string TuningTable(const Geometry& geometry, const LimiterSettings& settings);

// Bulk work that comes for `seconds`, under weir and under the highest fixed rate with which the engine never brakes.
struct Sustained {
  double bytes_per_second = 0;
  double adjusted_bytes_per_second = 0;  // over the time until the debt is paid
  double stalled_seconds = 0;
  double tree_bytes = 0;  // at the end
};
Sustained SustainedByWeir(const Geometry& geometry, const LimiterSettings& settings, double seconds);
Sustained SustainedByBestFixedRate(const Geometry& geometry, const LimiterSettings& settings, double seconds);
// Shows one, ten and sixty minutes, for a geometry that grows.
std::string GrowthTable(const Geometry& geometry, const LimiterSettings& settings);

}  // namespace weir
