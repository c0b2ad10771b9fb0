// The directory that has everything a relay keeps: direct messages, and the administrators' token.
#pragma once

#include <string>

#include "config/status.h"

namespace weir {

// Made for its owner alone where it is missing. One that is there is left as it is; `warning` says so where others may
// look into it, else it is empty.
Status MakeDataDirectory(const std::string& data_dir, std::string* warning = nullptr);

}  // namespace weir
