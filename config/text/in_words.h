// Durations as people read them.
#pragma once

#include <string>

#include "config/clock.h"

namespace weir {

// Rounds up, so that a client that waits that long is not early: "0.3 s", "12 s", "3 min 5 s", "2 h 10 min",
// "2 days 1 h". A negative time is "0 s".
std::string InWords(Duration time);
// The same for seconds from a stranger, which may be any number: more than 31 years count as 31 years.
std::string InWords(double seconds);

}  // namespace weir
