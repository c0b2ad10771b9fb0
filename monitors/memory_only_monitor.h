// MemoryOnlyMonitor: for a program with no engine to ask. Its memory is the only signal.
#pragma once

#include "monitors/load_monitor.h"
#include "monitors/memory_probe.h"

namespace weir {

// Returns the signal `memory`, which every monitor has: used / target. Memory does not drain by itself at a known rate,
// and admitted bytes show at the next sample. `waiting_bytes` of it are held by work that waits for its turn.
Signal MemorySignal(uint64_t used_bytes, uint64_t target_bytes, Duration sample_interval, uint64_t waiting_bytes = 0);
// Adds that signal and the sample's other figures of memory.
void AddMemory(const MemoryUse& use, uint64_t target_bytes, Duration sample_interval, LoadSample* sample,
               uint64_t waiting_bytes = 0);

class MemoryOnlyMonitor final : public LoadMonitor {
 public:
  explicit MemoryOnlyMonitor(uint64_t target_bytes, const MonitorSettings& settings = {},
                             const Clock& clock = Clock::System(), const MemoryFiles& files = {});
};

}  // namespace weir
