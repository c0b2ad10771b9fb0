// Makes the policies that throttle writes outside of RocksDB.
#pragma once

#include <limits>
#include <memory>

#include "bench/storm/policy.h"

namespace weir {

// Makes a policy with the published plan (bench/plan/published_plan.h). It changes no option of RocksDB, as the plan
// does not. Its load is the plan's: the larger of L0 files / 10 and half of the highest compaction score. Bulk work has
// the plan's limiter for imports, interactive work has the plan's limiters for EVENT and REQ. `setpoint` is that of
// bulk work; NaN: the plan's.
std::unique_ptr<Policy> MakePlanPolicy(double setpoint);

// Makes a policy that opens the database with weir's options, and admits bulk work at a fixed rate and all other work
// at once.
std::unique_ptr<Policy> MakeStaticPolicy(double bulk_megabytes_per_second);

// A setpoint that means: use the setpoint of the settings.
inline constexpr double kAsIs = std::numeric_limits<double>::quiet_NaN();

enum class WeirClasses { kOne, kTwo };
std::unique_ptr<Policy> MakeWeirPolicy(const LimiterSettings& settings, WeirClasses classes, double setpoint);

}  // namespace weir
