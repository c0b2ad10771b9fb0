#pragma once

namespace weir {

// `weir import`: see its --help.
int ImportCommand(int argc, char** argv);

}  // namespace weir
