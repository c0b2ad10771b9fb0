// Durations as people read them.
#pragma once

#include <string>

#include "config/clock.h"

namespace weir {

// Rounded up, so that who waits that long is not early: "0.3 s", "12 s", "3 min 5 s", "2 h 10 min", "2 days 1 h". What
// is negative is "0 s".
std::string InWords(Duration time);
// The same of seconds, of which a stranger may say any number: beyond 31 years it is these.
std::string InWords(double seconds);

}  // namespace weir
