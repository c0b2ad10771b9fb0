// The checkpoint of an import: a checkpoint that was read, when written, is read back the same.
#include "import/run/checkpoint.h"
#include "tests/fixtures/must.h"
#include "tests/fuzz/target.h"

namespace weir {
namespace {

void Check(std::string_view json) {
  const Result<Checkpoint> read = ParseCheckpoint(json);
  if (!read.ok()) return Must(read.status().message().starts_with("is "), read.status().message());
  Must(read.value().input < read.value().inputs.size());
  // File names become readable by the first writing, as they do in an import.
  const std::string written = ToJson(read.value());
  const Result<Checkpoint> again = ParseCheckpoint(written);
  Must(again.ok(), written + again.status().message());
  Must(ToJson(again.value()) == written);
  Must(again.value().tail == read.value().tail);
  Must(again.value().place.bytes == read.value().place.bytes && again.value().place.lines == read.value().place.lines);
  Must(again.value().tally.lines == read.value().tally.lines);
}

}  // namespace
}  // namespace weir

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::Check(weir::Text(data, size));
  return 0;
}
