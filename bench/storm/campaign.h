// Which runs make up the experiment.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/storm/figures.h"

namespace weir {

// Fixed rates tried to find the oracle, under a label of their own: what is judged is run again, among the others.
std::vector<RunKey> OracleSweep(int repetitions);

// What a fixed rate must keep to: no brakes, interactive writes' p99.9, and the level. A rate that takes it beyond 1.0
// borrows from the minute after the burst.
struct OracleRule {
  std::string shape = RunKey{}.shape;
  std::string scenario = "burst";
  double write_p999_ms = 5;
  double highest_level = 1;
};
OracleRule ShapeOracle(const std::string& shape);

// The best of such a sweep by medians, that is, most debt-adjusted bulk. Empty: none passed.
std::string BestOracle(const std::vector<PhaseRow>& rows, const OracleRule& rule = {});

// The next rate to try for a shape: first what RocksDB alone took there, then, by tenths of it, the next higher while
// they are good enough, or the next lower until one is. None when that is known, and before RocksDB alone was run.
std::optional<RunKey> NextOfShapeSweep(const std::vector<PhaseRow>& rows, const std::string& shape);

// What weir's bulk work got in the second half of ten minutes, at scale 1; NaN while that was not run. The open loops
// are measured by it.
double SustainedRate(const std::vector<PhaseRow>& rows);

// The full experiment after the sweep: ten minutes of some, which find what is sustained, then everything, repetitions
// outermost, so that policies are interleaved in time; within one they begin with another policy each time. At the end
// other values of the policies' knobs, for the frontier of bulk work against latency.
std::vector<RunKey> FullCampaign(const std::string& oracle, int repetitions);

// The same for a choice of scenarios and policies, which every shape has its own of.
struct ShapePolicies {
  std::string shape = RunKey{}.shape;
  std::vector<std::string> policies;
};
std::vector<RunKey> Campaign(double scale, const std::vector<std::string>& scenarios,
                             const std::vector<ShapePolicies>& shapes, int repetitions);

}  // namespace weir
