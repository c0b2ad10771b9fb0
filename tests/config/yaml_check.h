// Checks that must hold for any text that is read as YAML; used by the reader's test and by tests/fuzz.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "config/yaml_reader.h"
#include "tests/fixtures/must.h"

namespace weir {

// Checks that the text is either read or refused, with errors that each have a line and a column. Errors after the 20th
// are only counted.
inline void CheckYaml(std::string_view text, const std::function<void(YamlMap& root)>& read) {
  const Status status = ReadYaml(text, "w.yaml", read);
  std::string_view errors = status.message();
  for (size_t left = 20; !errors.empty() && left > 0; --left) {
    Must(errors.starts_with("w.yaml:"), status.message());
    errors.remove_prefix(std::min(errors.find('\n'), errors.size() - 1) + 1);
  }
  Must(errors.empty() || errors.starts_with("and "), status.message());
}

}  // namespace weir
