// A LoadMonitor of a simulated plant: its Probe is what RocksDbMonitor's is, with the plant's facts for properties. It
// can be told to go blind, as a sensor does: to fail, or to deliver numbers that are none.
#pragma once

#include "bench/simulator/plant.h"
#include "monitors/load_monitor.h"

namespace weir {

enum class Sensor { kWorks, kFails, kNan };

class SimMonitor final : public LoadMonitor {
 public:
  SimMonitor(Plant& plant, MonitorSettings settings, const Clock& clock)
      : LoadMonitor(settings, clock), plant_(plant) {}

  void SetSensor(Sensor sensor) { sensor_ = sensor; }

 private:
  Status Probe(TimePoint now, LoadSample* sample) override;

  Plant& plant_;
  Sensor sensor_ = Sensor::kWorks;
};

}  // namespace weir
