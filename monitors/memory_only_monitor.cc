#include "monitors/memory_only_monitor.h"

#include <algorithm>

namespace weir {

Signal MemorySignal(uint64_t used_bytes, uint64_t target_bytes, Duration sample_interval) {
  const auto target = static_cast<double>(std::max<uint64_t>(target_bytes, 1));
  return {.name = "memory",
          .level = static_cast<double>(used_bytes) / target,
          .bytes_per_level = target,
          .dead_time = 2 * sample_interval,
          .acts_on_reads = true};
}

MemoryOnlyMonitor::MemoryOnlyMonitor(uint64_t target_bytes, MonitorSettings settings, const Clock& clock,
                                     const MemoryFiles& files)
    : LoadMonitor(settings, clock), target_bytes_(target_bytes), memory_(files) {}

Status MemoryOnlyMonitor::Probe(TimePoint, LoadSample* sample) {
  const Result<MemoryUse> use = memory_.ReadUse();
  if (!use.ok()) return use.status();
  const Signal memory = MemorySignal(use.value().bytes(), target_bytes_, settings().sample_interval);
  sample->Add(memory);
  sample->memory_pressure = memory.level;
  sample->memory_bytes = use.value().bytes();
  return Status();
}

}  // namespace weir
