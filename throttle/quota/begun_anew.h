// CountsBegunAnew: finds the limits whose counters begin at 0 because of an edit of the configuration. A store keeps a
// counter under the name of its party ("user:alice", an API key, …), and under the unit, kind and length of its limit
// (MeterName in limit.h). So a limit begins at 0 if the edit changes its length, adds or removes a burst, or gives an
// API key another tenant; the use that the former limit has counted is then no longer seen. If the edit changes only
// the amount or the time zone, the counter stays.
#pragma once

#include <string>
#include <vector>

#include "config/clock.h"

namespace weir {

struct QuotaConfig;

// Returns warnings for the log: about limits in `now` that replace a limit of `before` and begin at 0 (one warning for
// all that are alike), and about aliases in `before` that are counted as another model from now on. A limit that
// replaces none is expected to begin at 0, so there is no warning about it. `date` is the current time.
// CheckQuotaConfig must have accepted both configurations.
std::vector<std::string> CountsBegunAnew(const QuotaConfig& before, const QuotaConfig& now, WallTime date);

}  // namespace weir
