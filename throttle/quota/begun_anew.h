// Finds the counts that an edit of the configuration begins anew. A count is kept by its party, and by the kind and
// length of its limit (MeterName). So with another length, a burst, or another tenant of an API key, a limit begins at
// 0, and use under the former limit no longer counts for it. With another amount or another time zone the count goes
// on.
#pragma once

#include <string>
#include <vector>

#include "config/clock.h"

namespace weir {

struct QuotaConfig;

// Returns warnings for the log. Both configurations were checked. A limit is expected to begin at 0 if there was none
// of its kind before, so it is not among them.
std::vector<std::string> CountsBegunAnew(const QuotaConfig& before, const QuotaConfig& now, WallTime date);

}  // namespace weir
