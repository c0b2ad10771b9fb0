// Warns of settings of ORLY, another relay, about who may write, read and administer: weir reads other settings of ORLY
// under their names, but not these. Without a warning, a relay that was closed would be open after the move.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"

namespace weir {

// Returns a warning for each such variable of the environment that is set and not off ("none" or "false"); it says what
// to set in weir.
std::vector<std::string> WarnOfOrlyAccess(const Environment& environment);

}  // namespace weir
