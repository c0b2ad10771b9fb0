// Which runs make up the experiment.
#pragma once

#include <string>
#include <vector>

#include "bench/storm/figures.h"

namespace weir {

// Rates tried to find the oracle, in MB/s at scale 1.
std::vector<std::string> OracleSweep();

// The sweep's best: most debt-adjusted bulk with interactive writes' p99.9 within 5 ms and no brakes. Empty: none
// passed.
std::string BestOracle(const std::vector<PhaseRow>& rows, double scale);

// The full experiment after the sweep, repetitions outermost, so that policies are interleaved in time; within one they
// begin with another policy each time.
std::vector<RunKey> FullCampaign(const std::string& oracle, int repetitions);

// The same for a choice of scenarios and policies.
std::vector<RunKey> Campaign(double scale, const std::vector<std::string>& scenarios,
                             const std::vector<std::string>& policies, int repetitions);

}  // namespace weir
