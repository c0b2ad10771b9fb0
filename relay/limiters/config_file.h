// Reads a section of the configuration file weir.yaml, which the limiters and the relay's rules share. The setting
// WEIR_CONFIG has the path of the file.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "config/status.h"
#include "config/yaml_reader.h"

namespace weir {

// Reads the file at `path`. If the file has the section `section`, and it is not empty, calls `read` with that section.
// `section` is one of "quota", "keyed", "defaults", "endpoints", "server", "relay" and "router"; the other sections are
// skipped. Returns an error if the file cannot be read or is not YAML, if it has a section with any other name, or if
// `read` has reported an error on a value.
Status ReadConfigSection(const std::string& path, std::string_view section,
                         const std::function<void(const YamlValue& section)>& read);

}  // namespace weir
