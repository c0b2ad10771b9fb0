// CountsBegunAnew: finds the limits whose counters begin at 0 because of an edit of the configuration. A store
// identifies a counter by its party ("user:alice", an API key, …) and by the unit, kind and length of its limit
// (MeterName in limit.h). So a limit begins at 0 if the edit changes its length, adds or removes a burst, or gives an
// API key another tenant; the use that the former limit has counted no longer matters then. If the edit changes only
// the amount or the time zone, the counter stays.
#pragma once

#include <string>
#include <vector>

#include "config/clock.h"

namespace weir {

struct QuotaConfig;

// Returns warnings for the log: about limits in `now` that replace a limit of `before` and begin at 0 (one warning for
// all changes that are alike), and about aliases in `before` that are counted as another model from now on. A new limit
// that replaces no other is expected to begin at 0, so there is no warning about it. `date` is the current time.
// CheckQuotaConfig must have accepted both configurations.
std::vector<std::string> CountsBegunAnew(const QuotaConfig& before, const QuotaConfig& now, WallTime date);

}  // namespace weir
