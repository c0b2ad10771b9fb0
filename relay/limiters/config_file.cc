#include "relay/limiters/config_file.h"

namespace weir {

Status ReadConfigSection(const std::string& path, std::string_view section,
                         const std::function<void(const YamlValue& section)>& read) {
  return ReadYamlFile(path, [&](YamlMap& root) {
    for (const std::string_view name : {"quota", "keyed", "defaults", "endpoints", "server"}) {
      const YamlValue value = root.Optional(name);
      if (name == section && value) read(value);
    }
  });
}

}  // namespace weir
