// MemoryOnlyMonitor: a LoadMonitor for a program without a storage engine. The memory of the program is the only
// signal.
#pragma once

#include "monitors/load_monitor.h"
#include "monitors/memory_probe.h"

namespace weir {

// Returns the signal `memory` (load_sample.h), which every monitor has: used / target. It has no drain rate, because
// memory does not shrink by itself at a known rate. `waiting_bytes` is the part of the used bytes that waiting work
// holds (own_bytes.h).
Signal MemorySignal(uint64_t used_bytes, uint64_t target_bytes, Duration sample_interval, uint64_t waiting_bytes = 0);
// Adds the signal `memory` to the sample, and sets the sample's memory_pressure and memory_bytes.
void AddMemory(const MemoryUse& use, uint64_t target_bytes, Duration sample_interval, LoadSample* sample,
               uint64_t waiting_bytes = 0);

class MemoryOnlyMonitor final : public LoadMonitor {
 public:
  explicit MemoryOnlyMonitor(uint64_t target_bytes, const MonitorSettings& settings = {},
                             const Clock& clock = Clock::System(), const MemoryFiles& files = {});
};

}  // namespace weir
