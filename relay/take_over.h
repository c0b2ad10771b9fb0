// Lets a new relay take over the database of a running one (weir relay --take-over).
#pragma once

#include <chrono>
#include <string>

#include "config/status.h"

namespace weir {

// Asks the process that has the database in `directory` open to stop, with SIGTERM. This is the process that holds the
// lock file weir.lock (relay/process/lock_file.h). Waits until no process has the database open, for at most `longest`;
// returns at once if no process has it open. Returns an error if the signal cannot be sent, or if the database is still
// open after `longest`. The error names the process that got the signal, if any.
Status AskHolderToGo(const std::string& directory, std::chrono::milliseconds longest);

}  // namespace weir
