// The policies that control from outside of RocksDB.
#pragma once

#include <limits>
#include <memory>

#include "bench/storm/policy.h"

namespace weir {

// The published plan on RocksDB's options as they are, for the plan does not touch them. Load is the plan's: the larger
// of L0 files / 10 and half of the highest compaction score. Bulk work has the plan's import limiter, interactive work
// those of EVENT and REQ. If `setpoint` is NaN, bulk work has the plan's.
std::unique_ptr<Policy> MakePlanPolicy(double setpoint);

// Lets bulk work pass at a rate that is known beforehand, and all else at once.
std::unique_ptr<Policy> MakeStaticPolicy(double bulk_megabytes_per_second);

// A setpoint that stays as the settings have it.
inline constexpr double kAsIs = std::numeric_limits<double>::quiet_NaN();

enum class WeirClasses { kOne, kTwo };
std::unique_ptr<Policy> MakeWeirPolicy(const LimiterSettings& settings, WeirClasses classes, double setpoint);

}  // namespace weir
