// weir simulate: shows what the throttle would do with the gains of the environment, in a second instead of a storm.
#pragma once

#include <iosfwd>

#include "bench/simulator/plot.h"
#include "config/settings.h"

namespace weir {

// argv[0] is "weir simulate". Returns the exit code: 2 for flags or settings that are wrong.
int SimulateCommand(int argc, char** argv);  // on the process's own environment, output and terminal
int SimulateCommand(int argc, char** argv, const Environment& environment, const Terminal& terminal, std::ostream& out,
                    std::ostream& err);

}  // namespace weir
