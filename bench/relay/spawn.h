// A command of the shell as a process of its own group, which ends with this program however that ends.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "config/status.h"

namespace weir {

// What it says goes to the end of `log`.
Result<pid_t> Spawn(const std::string& command, const std::filesystem::path& log);

}  // namespace weir
