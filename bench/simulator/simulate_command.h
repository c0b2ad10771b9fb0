// weir simulate: shows, in a second, what the throttle would do with the gains that the environment sets. The storm
// experiment, on a real RocksDB, takes hours.
#pragma once

#include <iosfwd>

#include "bench/simulator/plot.h"
#include "config/settings.h"

namespace weir {

// Runs the command, with argv[0] "weir simulate", and returns the exit code: 2 for wrong flags or settings.
int SimulateCommand(int argc, char** argv);  // on the process's own environment, output and terminal
int SimulateCommand(int argc, char** argv, const Environment& environment, const Terminal& terminal, std::ostream& out,
                    std::ostream& err);

}  // namespace weir
