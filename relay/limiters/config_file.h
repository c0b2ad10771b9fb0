// Reads weir.yaml (WEIR_CONFIG), which has a section for each limiter.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "config/status.h"
#include "config/yaml_reader.h"

namespace weir {

// Reads the file, and calls `read` with the section if the file has it. `section` is "quota", "keyed", "defaults",
// "endpoints" or "server"; the others of these five are skipped. Returns an error if the file cannot be read or has any
// other key, and the errors that `read` has reported on values.
Status ReadConfigSection(const std::string& path, std::string_view section,
                         const std::function<void(const YamlValue& section)>& read);

}  // namespace weir
