// `weir import`: stores the events of files.
#pragma once

namespace weir {

// Runs the command and returns its exit status. Its --help describes the arguments.
int ImportCommand(int argc, char** argv);

}  // namespace weir
