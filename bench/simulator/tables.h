// The tables of the READMEs, made by the command that they name.
#pragma once

#include <string>
#include <string_view>

#include "bench/simulator/scenario.h"
#include "throttle/limiter_settings.h"

namespace weir {

// Every scenario under every law.
std::string BakeOffTable(const Geometry& geometry, const LimiterSettings& settings);

// What each of the bulk gains does when it is raised.
std::string TuningTable(const Geometry& geometry, const LimiterSettings& settings);

}  // namespace weir
