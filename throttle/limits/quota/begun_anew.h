// CountsBegunAnew: finds the limits whose counters start again from 0 because the operator has edited the
// configuration. A store identifies a counter by its model, if it has one, by the party whose use it counts (such as
// "user:alice" or an API key), and by the unit, kind and length of the limit (MeterName in limit.h). So an edit that
// changes the length of a limit, adds or removes its burst, or gives an API key another tenant makes the limit use a
// new counter, which starts at 0. An edit that changes only the amount or the time zone keeps the counter.
#pragma once

#include <string>
#include <vector>

#include "config/clock.h"

namespace weir {

struct QuotaConfig;

// Returns warnings for the log about the limits of `now` that replace a limit of `before` and start again from 0 (one
// warning for all changes that are alike), and about the aliases of `before` that are counted as another model from now
// on. A limit that replaces no other limit is expected to start at 0, so it causes no warning. `date` is the current
// time. REQUIRES: CheckQuotaConfig has accepted both configurations.
std::vector<std::string> CountsBegunAnew(const QuotaConfig& before, const QuotaConfig& now, WallTime date);

}  // namespace weir
