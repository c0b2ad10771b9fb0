// Writes durations as people read them.
#pragma once

#include <string>

#include "config/clock.h"

namespace weir {

// Returns the duration as "0.3 s", "12 s", "3 min 5 s", "2 h 10 min" or "2 days 1 h". It is rounded up, so a client
// that waits for the printed time does not try again too early. A negative duration is "0 s".
std::string InWords(Duration time);
// Returns the same for a number of seconds from an untrusted source: more than 1e9 s (31 years) count as 1e9 s, a
// negative number or NaN as 0 s.
std::string InWords(double seconds);

}  // namespace weir
