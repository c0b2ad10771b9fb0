// weir relay: runs the relay until it is told to stop.
#pragma once

namespace weir {

int RelayCommand(int argc, char** argv);

}  // namespace weir
