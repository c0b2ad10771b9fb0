// weir relay: runs the relay until a signal stops it.
#pragma once

#include <vector>

namespace weir {

class RelayPlugin;

// Returns the exit status: 0 if a signal stopped the relay, 1 if it could not be opened, 2 if flags or settings are
// wrong. argv[0] is "weir relay". `plugins` (relay_plugin.h) must outlive the call.
int RelayCommand(int argc, char** argv, std::vector<RelayPlugin*> plugins = {});

}  // namespace weir
