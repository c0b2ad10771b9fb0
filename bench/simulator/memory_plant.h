// MemoryPlant: a model of a program that has no storage engine. Written bytes fill memory, and background work empties
// it at a fixed rate. The program has no brake; each time that its memory rises above the target counts as an escape.
#pragma once

#include "bench/simulator/plant.h"

namespace weir {

struct MemoryPlantOptions {
  double target_bytes = 400e6;
  double base_bytes = 80e6;
  double drain_bytes_per_second = 6e6;
  double insert_bytes_per_second = 78e6;
  Duration sample_interval = std::chrono::milliseconds(100);
};

class MemoryPlant final : public Plant {
 public:
  MemoryPlant(const MemoryPlantOptions& options, TimePoint start);

  void AdvanceTo(TimePoint now) override;
  TimePoint NextEvent() const override { return TimePoint::max(); }
  double WriteBytesPerSecond() const override { return options_.insert_bytes_per_second; }
  void Write(double user_bytes) override;
  void SetBackground(double bytes_per_second) override { drain_ = bytes_per_second; }
  void Sense(TimePoint now, LoadSample* sample) override;
  PlantView View() const override;

 private:
  double Used() const { return options_.base_bytes + filled_; }

  const MemoryPlantOptions options_;
  double drain_;
  TimePoint now_;
  double filled_ = 0;
  double total_drained_ = 0;
  bool above_ = false;
  uint64_t escapes_ = 0;
  double above_s_ = 0;
};

}  // namespace weir
