#include "bench/simulator/sim_monitor.h"

#include <limits>

namespace weir {

Status SimMonitor::Probe(TimePoint now, LoadSample* sample) {
  if (sensor_ == Sensor::kFails) return Status::Error("the sensor is lost, as the scenario wants");
  plant_.Sense(now, sample);
  if (sensor_ == Sensor::kNan) {
    for (Signal& signal : sample->signal_array) signal.level = std::numeric_limits<double>::quiet_NaN();
  }
  return Status();
}

}  // namespace weir
