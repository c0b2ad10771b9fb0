// `weir export`: writes events of the store to a file.
#pragma once

namespace weir {

// Runs the command and returns its exit status. Its --help describes the arguments.
int ExportCommand(int argc, char** argv);

}  // namespace weir
