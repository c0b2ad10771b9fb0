// Lets a relay take over the database of a relay that runs (weir relay --take-over).
#pragma once

#include <chrono>
#include <string>

#include "config/status.h"

namespace weir {

// Asks the process that holds the database in `directory` to stop (SIGTERM), and waits for at most `longest` until no
// process holds the database. Returns at once if none does. Returns an error if the signal cannot be sent, or if the
// database is still held after `longest`; the error names the process, if one could be asked.
Status AskHolderToGo(const std::string& directory, std::chrono::milliseconds longest);

}  // namespace weir
