// weir advise: reads the LOG and OPTIONS files of a RocksDB, and says what stalled, why, what to set, and what the
// simulator says would have happened with weir.
#pragma once

#include <iosfwd>

namespace weir {

// Runs the command, with argv[0] "weir advise", and returns the exit code: 1 if a file cannot be read or is none of
// RocksDB's, 2 for wrong arguments.
int AdviseCommand(int argc, char** argv);  // with the process's own output
int AdviseCommand(int argc, char** argv, std::ostream& out, std::ostream& err);

}  // namespace weir
