// weir.yaml (WEIR_CONFIG): a section for each limiter.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "config/status.h"
#include "config/yaml_reader.h"

namespace weir {

// Calls `read` if the section is there. The other limiters' sections are skipped, and `server` of an rls.yml too; any
// other key is an error.
Status ReadConfigSection(const std::string& path, std::string_view section,
                         const std::function<void(const YamlValue& section)>& read);

}  // namespace weir
