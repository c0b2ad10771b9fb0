#include "relay/limiters/config_file.h"

namespace weir {
namespace {

// Lists of authors may have 100,000 keys, which are 7 MB.
constexpr YamlBounds kBounds{.file_bytes = size_t{32} << 20, .values = 1'000'000};

}  // namespace

Status ReadConfigSection(const std::string& path, std::string_view section,
                         const std::function<void(const YamlValue& section)>& read) {
  return ReadYamlFile(
      path,
      [&](YamlMap& root) {
        for (const std::string_view name : {"quota", "keyed", "defaults", "endpoints", "server", "relay", "router"}) {
          const YamlValue value = root.Optional(name);
          if (name == section && value) read(value);
        }
      },
      kBounds);
}

}  // namespace weir
