// Lets a new relay take over the database of a running one (weir relay --take-over).
#pragma once

#include <chrono>
#include <string>

#include "config/status.h"

namespace weir {

// Asks the process that holds the database in `directory` to stop (SIGTERM), and waits until no process holds it, for
// at most `longest`. Returns at once if no process holds it. Returns an error if the signal cannot be sent, or if the
// database is still held after `longest`; the error names the process to which the signal was sent, if any.
Status AskHolderToGo(const std::string& directory, std::chrono::milliseconds longest);

}  // namespace weir
