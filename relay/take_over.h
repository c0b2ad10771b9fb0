// The way in for a relay that takes the place of a running one.
#pragma once

#include <chrono>
#include <string>

#include "config/status.h"

namespace weir {

// Asks whoever holds the database in this directory to stop (SIGTERM), and waits until it has. At once where nobody
// holds it. The error says who did not go.
Status AskHolderToGo(const std::string& directory, std::chrono::milliseconds longest);

}  // namespace weir
