// The texts of RocksDB from which a database is measured. The first byte chooses: 'o' for options, else the answer to
// the property of each line of the input in turn.
#include <cmath>
#include <string>

#include "config/manual_clock.h"
#include "monitors/rocksdb_text/property_monitor.h"
#include "monitors/rocksdb_text/stats_text.h"
#include "tests/fixtures/must.h"
#include "tests/fuzz/target.h"

namespace weir {
namespace {

void CheckOptions(std::string_view text) {
  const Result<OptionsText> options = ParseOptionsText(text);
  if (!options.ok()) return;
  for (const OptionsText::Family& family : options.value().families) {
    const LsmGeometry geometry = GeometryAsSet(family.options);
    Must(geometry.write_buffer_bytes > 0 && geometry.buffers_per_flush > 0 && geometry.L0FilesAtOne() > 0);
  }
}

// The answers are those of one sample after the other; the last one is repeated.
void CheckAnswers(std::string_view text) {
  const auto answer = [&](const std::string&, const char*, std::string* value) {
    const size_t end = std::min(text.find('\f'), text.size());
    *value = text.substr(0, end);
    if (end < text.size()) text.remove_prefix(end + 1);
    return *value != "none";
  };
  ManualClock clock;
  PropertyMonitorSettings settings;
  settings.memory_target_bytes = 1 << 30;
  settings.options = [] { return ParseOptionsText("[CFOptions \"default\"]\n"); };
  const auto monitor = PropertyMonitor::Attach(answer, settings, clock);
  if (!monitor.ok()) return;
  for (int sample = 0; sample < 3; ++sample) {
    clock.Advance(std::chrono::seconds(1));
    if (!monitor.value()->SampleOnce().ok()) continue;
    const LoadSample taken = monitor.value()->Sample();
    for (const Signal& signal : taken.signals()) {
      Must(std::isfinite(signal.level) && signal.level >= 0, std::string(signal.name));
      Must(std::isfinite(signal.bytes_per_level) && std::isfinite(signal.drain_bytes_per_second),
           std::string(signal.name));
    }
  }
}

}  // namespace
}  // namespace weir

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text = weir::Text(data, size);
  if (weir::TakeByte(&text) == 'o') {
    weir::CheckOptions(text);
  } else {
    weir::CheckAnswers(text);
  }
  return 0;
}
