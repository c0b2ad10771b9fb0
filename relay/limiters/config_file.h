// weir.yaml (WEIR_CONFIG): a section for each limiter.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "config/status.h"
#include "config/yaml_reader.h"

namespace weir {

// Calls `read` where the section is there. The other limiters' are let pass, `server` of an rls.yml too, and any other
// key is an error.
Status ReadConfigSection(const std::string& path, std::string_view section,
                         const std::function<void(const YamlValue& section)>& read);

}  // namespace weir
