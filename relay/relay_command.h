// weir relay: runs the relay until it is told to stop.
#pragma once

#include <vector>

namespace weir {

class RelayPart;

// The parts must outlive the call.
int RelayCommand(int argc, char** argv, std::vector<RelayPart*> parts = {});

}  // namespace weir
