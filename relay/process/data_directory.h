// The data directory: it holds everything that a relay keeps, such as direct messages and the administrators' token.
#pragma once

#include <string>

#include "config/status.h"

namespace weir {

// Makes the data directory, with access only for its owner (mode 0700), and the directories above it, if they are
// missing. Returns an error if that fails, or if `data_dir` is a file. A directory that exists stays as it is; if other
// users have access to it, `warning`, unless null, is set to a text that says so. Otherwise `warning` does not change.
Status MakeDataDirectory(const std::string& data_dir, std::string* warning = nullptr);

}  // namespace weir
