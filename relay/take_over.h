// Lets a relay take the place of a running one.
#pragma once

#include <chrono>
#include <string>

#include "config/status.h"

namespace weir {

// Asks the process that holds the database in this directory to stop (SIGTERM), and waits until it has. Returns at once
// if no process holds it. The error names the process that did not stop.
Status AskHolderToGo(const std::string& directory, std::chrono::milliseconds longest);

}  // namespace weir
