// Which runs make up the experiment.
#pragma once

#include <string>
#include <vector>

#include "bench/storm/figures.h"

namespace weir {

// Fixed rates tried to find the oracle, under a label of their own: what is judged is run again, among the others.
std::vector<RunKey> OracleSweep(int repetitions);

// The sweep's best by medians: most debt-adjusted bulk with interactive writes' p99.9 within 5 ms, no brakes, and the
// level not beyond 1.0: a rate that passes it borrows from the minute after the burst. Empty: none passed.
std::string BestOracle(const std::vector<PhaseRow>& rows);

// What weir's bulk work got in the second half of ten minutes, at scale 1; NaN while that was not run. The open loops
// are measured by it.
double Sustained(const std::vector<PhaseRow>& rows);

// The full experiment after the sweep: ten minutes of some, which find what is sustained, then everything, repetitions
// outermost, so that policies are interleaved in time; within one they begin with another policy each time. At the end
// other values of the policies' knobs, for the frontier of bulk work against latency.
std::vector<RunKey> FullCampaign(const std::string& oracle, int repetitions);

// The same for a choice of scenarios and policies.
std::vector<RunKey> Campaign(double scale, const std::vector<std::string>& scenarios,
                             const std::vector<std::string>& policies, int repetitions);

}  // namespace weir
