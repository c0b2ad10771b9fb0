// `weir config`: every setting with its value, where that came from, its unit, range and meaning.
#pragma once

#include <iosfwd>

#include "config/settings.h"

namespace weir {

// Returns the exit code: 2 if the flags or the environment are wrong.
int ConfigCommand(int argc, char** argv, SettingTable& table, const Environment& environment, std::ostream& out,
                  std::ostream& err);

}  // namespace weir
