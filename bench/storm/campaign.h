// The runs that make up the experiment.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/storm/figures.h"

namespace weir {

// Returns the fixed rates to try to find the oracle, under a label of their own: the oracle is run again, among the
// others.
std::vector<RunKey> OracleSweep(int repetitions);

// The bounds that a fixed rate must keep to: no brakes, interactive writes' p99.9, and the level. A rate that takes the
// level beyond 1.0 borrows from the minute after the burst.
struct OracleRule {
  std::string shape = RunKey{}.shape;
  std::string scenario = "burst";
  double write_p999_ms = 5;
  double highest_level = 1;
};
OracleRule ShapeOracle(const std::string& shape);

// Returns the best of such a sweep by medians: the one with the most debt-adjusted bulk. Empty if none passed.
std::string BestOracle(const std::vector<PhaseRow>& rows, const OracleRule& rule = {});

// Returns the next rate to try for a shape: first the rate that RocksDB alone took there, then, by tenths of it, the
// next higher while they are good enough, or the next lower until one is. Returns nullopt when the best is known, and
// before RocksDB alone was run.
std::optional<RunKey> NextOfShapeSweep(const std::vector<PhaseRow>& rows, const std::string& shape);

// Returns the rate of weir's bulk work in the second half of ten minutes, at scale 1; NaN if that was not run. It is
// the unit of the open loops.
double SustainedRate(const std::vector<PhaseRow>& rows);

// Returns the full experiment after the sweep: ten minutes of some policies, which find the sustained rate, then
// everything, repetitions outermost, so that policies are interleaved in time; each repetition begins with another
// policy. At the end come other values of the policies' knobs, for the frontier of bulk work against latency.
std::vector<RunKey> FullCampaign(const std::string& oracle, int repetitions);

// Returns the same for some scenarios; every shape has policies of its own.
struct ShapePolicies {
  std::string shape = RunKey{}.shape;
  std::vector<std::string> policies;
};
std::vector<RunKey> Campaign(double scale, const std::vector<std::string>& scenarios,
                             const std::vector<ShapePolicies>& shapes, int repetitions);

}  // namespace weir
