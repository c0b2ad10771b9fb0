#include "bench/simulator/memory_plant.h"

#include <algorithm>

#include "monitors/memory_only_monitor.h"

namespace weir {

MemoryPlant::MemoryPlant(const MemoryPlantOptions& options, TimePoint start)
    : options_(options), drain_(options.drain_bytes_per_second), now_(start) {}

void MemoryPlant::AdvanceTo(TimePoint now) {
  if (now <= now_) return;
  const double seconds = ToSeconds(now - now_);
  now_ = now;
  const double drained = std::min(filled_, drain_ * seconds);
  filled_ -= drained;
  total_drained_ += drained;
  if (above_) above_s_ += seconds;
  above_ = Used() > options_.target_bytes;
}

void MemoryPlant::Write(double user_bytes) {
  filled_ += user_bytes;
  const bool above = Used() > options_.target_bytes;
  if (above && !above_) ++escapes_;
  above_ = above;
}

void MemoryPlant::Sense(TimePoint, LoadSample* sample) {
  const Signal memory = MemorySignal(static_cast<uint64_t>(Used()), static_cast<uint64_t>(options_.target_bytes),
                                     options_.sample_interval);
  sample->Add(memory);
  sample->memory_pressure = memory.level;
  sample->memory_bytes = static_cast<uint64_t>(Used());
  sample->escapes = escapes_;
}

PlantView MemoryPlant::View() const {
  return {.memory_bytes = Used(),
          .delayed = above_,
          .total_drained_bytes = total_drained_,
          .escapes = escapes_,
          .stalled_seconds = above_s_};
}

}  // namespace weir
