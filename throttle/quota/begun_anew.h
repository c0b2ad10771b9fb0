// Which counts an edit of the configuration begins anew. A count is kept by whom it is for and by what kind of limit it
// is of, over what time (MeterName): with another length, a burst, or another tenant of an API key, a limit begins at
// 0, and what was used under the former one counts for it no more. Another amount, or another time zone, goes on with
// it.
#pragma once

#include <string>
#include <vector>

#include "config/clock.h"

namespace weir {

struct QuotaConfig;

// Warnings for the log, of two configurations that were checked. A limit where there was none of its kind before is no
// surprise, and is not among them.
std::vector<std::string> CountsBegunAnew(const QuotaConfig& before, const QuotaConfig& now, WallTime date);

}  // namespace weir
