// Lists the runs of the storm experiment. The oracle is the best fixed rate for bulk work, which a sweep finds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/storm/figures.h"

namespace weir {

// Returns the runs of the sweep: one for each fixed rate and repetition. They have a label of their own, because the
// full campaign runs the oracle once more, in turn with the other policies.
std::vector<RunKey> OracleSweep(int repetitions);

// The conditions for the oracle's rate: RocksDB never brakes, the highest level is at most `highest_level`, and the
// median of the runs' p99.9 of interactive writes is at most `write_p999_ms`. A rate that raises the level above 1.0
// leaves work for the minute after the burst.
struct OracleRule {
  std::string shape = RunKey{}.shape;
  std::string scenario = "burst";
  double write_p999_ms = 5;
  double highest_level = 1;
};
OracleRule ShapeOracle(const std::string& shape);

// Returns the policy with the best rate of a sweep, by medians: the one with the highest debt-adjusted bulk rate among
// those that meet `rule`. A policy with a figure that is missing (NaN) in the comparison does not meet it, for example
// if the engine never settled. Returns "" if none does.
std::string BestOracle(const std::vector<PhaseRow>& rows, const OracleRule& rule = {});

// Returns the next run of the sweep for a shape. The first rate is the one that RocksDB alone reached with this shape.
// The next rates differ by tenths of it: they rise while they meet the rule, or fall until one meets it. Returns
// nullopt when the best rate is known, when no rate from 0.4 to 1.6 of the first is left to try, and if RocksDB alone
// was not run yet or did no bulk work.
std::optional<RunKey> NextOfShapeSweep(const std::vector<PhaseRow>& rows, const std::string& shape);

// Returns the rate of bulk work under weir in the second half of ten minutes, at scale 1; NaN if that was not run. The
// loads of open loops are multiples of this rate.
double SustainedRate(const std::vector<PhaseRow>& rows);

// Returns the runs of the full experiment after the sweep. First come runs of ten minutes under some policies, which
// find the sustained rate. Then come the other scenarios, each under the policies that it compares, repetition by
// repetition, so that the policies alternate in time; each repetition begins with another policy. At the end come other
// values of the policies' knobs, which show how much latency more bulk work costs.
std::vector<RunKey> FullCampaign(const std::string& oracle, int repetitions);

// Campaign returns the runs of some scenarios, for some shapes, each with the policies to run.
struct ShapePolicies {
  std::string shape = RunKey{}.shape;
  std::vector<std::string> policies;
};
std::vector<RunKey> Campaign(double scale, const std::vector<std::string>& scenarios,
                             const std::vector<ShapePolicies>& shapes, int repetitions);

}  // namespace weir
