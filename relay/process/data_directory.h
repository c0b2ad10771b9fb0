// Makes the data directory, in which a relay keeps its files: the administrators' token and, unless they are in
// PostgreSQL, the events, which may be direct messages.
#pragma once

#include <string>

#include "config/status.h"

namespace weir {

// Makes the directory `data_dir` with access only for its owner (mode 0700), and the directories above it, if they are
// missing. Returns an error if that fails, or if `data_dir` is a file. Does not change a directory that exists. If
// `data_dir` exists already, other users may access it, and `warning` is not null, sets `*warning` to a text that says
// so; otherwise leaves `*warning` unchanged.
Status MakeDataDirectory(const std::string& data_dir, std::string* warning = nullptr);

}  // namespace weir
