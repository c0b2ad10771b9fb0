// The file of a YamlQuotaStore: a state that was read, when written, is read back the same.
#include <utility>

#include "tests/fixtures/must.h"
#include "tests/fuzz/target.h"
#include "throttle/limits/quota/yaml_store.h"

namespace weir {
namespace {

void Check(std::string_view text) {
  Result<QuotaState> read = ReadQuotaYaml(text, "quota.yaml");
  if (!read.ok()) return Must(read.status().message().starts_with("quota.yaml:"), read.status().message());
  QuotaState state = std::move(read).value();
  std::erase_if(state, [](const auto& model) { return !model.second.quota && !model.second.has_usage(); });
  const std::string written = WriteQuotaYaml(state);
  const Result<QuotaState> again = ReadQuotaYaml(written, "quota.yaml");
  Must(again.ok(), written + again.status().message());
  Must(again.value() == state, written);
}

}  // namespace
}  // namespace weir

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::Check(weir::Text(data, size));
  return 0;
}
