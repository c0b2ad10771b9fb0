// `weir config`: prints every setting with its value, the source of the value, its unit, range and meaning. As
// Markdown, it prints the defaults instead of the values, and does not read the environment.
#pragma once

#include <iosfwd>

#include "config/settings.h"

namespace weir {

// Prints on `out` the settings of `table` with their values from `environment`; prints warnings and errors on `err`.
// Returns the exit status: 0, or 2 if the flags or the environment are wrong.
int ConfigCommand(int argc, char** argv, SettingTable& table, const Environment& environment, std::ostream& out,
                  std::ostream& err);

}  // namespace weir
