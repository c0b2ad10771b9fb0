#include "monitors/memory_only_monitor.h"

#include <algorithm>

#include "monitors/memory_target.h"

namespace weir {
namespace {

class MemoryOnlyProbe final : public LoadProbe {
 public:
  MemoryOnlyProbe(uint64_t target_bytes, Duration sample_interval, const MemoryFiles& files)
      : target_bytes_(target_bytes), sample_interval_(sample_interval), memory_(files) {}

  Status Probe(TimePoint, LoadSample* sample) override {
    const Result<MemoryUse> use = memory_.ReadUse();
    if (!use.ok()) return use.status();
    AddMemory(use.value(), target_bytes_, sample_interval_, sample);
    return Status();
  }

 private:
  const uint64_t target_bytes_;
  const Duration sample_interval_;
  MemoryProbe memory_;
};

}  // namespace

Signal MemorySignal(uint64_t used_bytes, uint64_t target_bytes, Duration sample_interval, uint64_t waiting_bytes) {
  const auto target = static_cast<double>(std::max<uint64_t>(target_bytes, 1));
  return {.name = "memory",
          .level = static_cast<double>(used_bytes) / target,
          .waiting = static_cast<double>(waiting_bytes) / target,
          .least_setpoint = kLeastMemorySetpoint,
          .bytes_per_level = target,
          .dead_time = 2 * sample_interval,
          .acts_on_reads = true};
}

void AddMemory(const MemoryUse& use, uint64_t target_bytes, Duration sample_interval, LoadSample* sample,
               uint64_t waiting_bytes) {
  const Signal memory = MemorySignal(use.bytes(), target_bytes, sample_interval, waiting_bytes);
  sample->Add(memory);
  sample->memory_pressure = memory.level;
  sample->memory_bytes = use.bytes();
}

MemoryOnlyMonitor::MemoryOnlyMonitor(uint64_t target_bytes, const MonitorSettings& settings, const Clock& clock,
                                     const MemoryFiles& files)
    : LoadMonitor(std::make_unique<MemoryOnlyProbe>(target_bytes, settings.sample_interval, files), settings, clock) {}

}  // namespace weir
