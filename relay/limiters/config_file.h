// Reads a section of weir.yaml, the limiters' configuration file, which the setting WEIR_CONFIG names.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "config/status.h"
#include "config/yaml_reader.h"

namespace weir {

// Reads the file at `path` and, if the file has the section `section`, calls `read` with that section. `section` is one
// of "quota", "keyed", "defaults", "endpoints" and "server"; the other four sections are skipped. Returns an error if
// the file cannot be read, if it has a section with any other name, or if `read` has reported an error on a value.
Status ReadConfigSection(const std::string& path, std::string_view section,
                         const std::function<void(const YamlValue& section)>& read);

}  // namespace weir
