// `weir load`: loads SQL into a MariaDB with MyRocks.
#pragma once

namespace weir {

// Runs the command and returns its exit status. Its --help describes the arguments.
int LoadCommand(int argc, char** argv);

}  // namespace weir
