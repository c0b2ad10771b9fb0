// The command `weir stream`.
#pragma once

namespace weir {

int StreamCommand(int argc, char** argv);

}  // namespace weir
