// A configuration: any text is either read or refused with positions, by a reader that asks for everything and by the
// reader of the quotas.
#include "tests/config/yaml_check.h"
#include "tests/fuzz/target.h"
#include "throttle/limits/quota/quota_config_reader.h"

namespace weir {
namespace {

// Reads each value as each of the types; some will not fit.
void ReadAll(const YamlValue& value) {
  if (value.is_map()) return value.Entries([](std::string_view, const YamlValue& inner) { ReadAll(inner); });
  bool flag = false;
  double number = 0;
  uint64_t whole = 0;
  std::string text;
  value.Read(&flag);
  value.Read(&number, {.min = -1e9, .max = 1e9});
  value.Read(&whole, {.min = 0, .max = 9e18});
  value.Read(&text);
  value.List([](const YamlValue& inner) { ReadAll(inner); });
}

void Check(std::string_view text) {
  CheckYaml(text, [](YamlMap& root) { ReadAll(root.Optional("any")); });
  CheckYaml(text, [](YamlMap& root) {
    QuotaConfig config;
    ReadQuotaSection(root.Optional("quota"), &config);
    root.Optional("any");
  });
}

}  // namespace
}  // namespace weir

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::Check(weir::Text(data, size));
  return 0;
}
