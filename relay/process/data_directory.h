// The directory that holds everything a relay keeps, such as direct messages and the administrators' token.
#pragma once

#include <string>

#include "config/status.h"

namespace weir {

// Makes it, for its owner alone, if it is missing. A directory that exists is left as it is; `warning` is set if other
// users may look into it.
Status MakeDataDirectory(const std::string& data_dir, std::string* warning = nullptr);

}  // namespace weir
