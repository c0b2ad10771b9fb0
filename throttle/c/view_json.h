// ViewJson: the state of a limiter as JSON, for programs in other languages.
#pragma once

#include <string>

#include "config/status.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

// Returns an object on one line. `sensor` is the monitor's LastError.
std::string ViewJson(const LimiterView& view, const Status& sensor);

}  // namespace weir
