// The course of a run: the work that comes, and the disturbances. It is data only; simulation.h runs it.
#pragma once

#include <limits>
#include <string_view>
#include <vector>

#include "bench/simulator/lsm_plant.h"
#include "bench/simulator/memory_plant.h"

namespace weir {

inline constexpr double kClosedLoop = std::numeric_limits<double>::infinity();

// The load that bulk writers together offer from a time on, in multiples of the rate that the engine can sustain;
// kClosedLoop: each writes as soon as its last write is done. If it `ramps`, it leads in a straight line to the next.
struct Offer {
  double from_s = 0;
  double multiple = kClosedLoop;
  bool ramps = false;
};

struct Disturbance {
  enum class Kind { kBackground, kSensorFails, kSensorNan, kSensorWorks, kBulkGains };
  double at_s = 0;
  Kind kind = Kind::kBackground;
  double value = 1;  // background: share of the geometry's bandwidth; gains: multiple of the default ones
};

struct Scenario {
  std::string_view name;
  std::string_view meaning;
  double seconds = 120;
  // Figures are taken from from_s to until_s (0: to the end); before is the warm-up.
  double from_s = 0;
  double until_s = 0;

  std::vector<Offer> offers = {{}};
  int parties = 4;
  int writers_of_first_party = 1;  // the others have one each
  std::vector<Disturbance> disturbances = {};

  bool memory_plant = false;
  bool weighted = false;               // the process variable, whatever the settings say
  std::string_view compare_with = "";  // another scenario that belongs beside this one
};

const std::vector<Scenario>& Scenarios();
const Scenario* FindScenario(std::string_view name);

// An engine of some size, and the rate that it sustains at the bulk setpoint.
struct Geometry {
  std::string_view name;
  std::string_view meaning;
  LsmPlantOptions lsm;
  MemoryPlantOptions memory;
  double sustained_bytes_per_second = 0;
  double time_scale = 1;  // how much slower than the recipe it is; scenarios last this much longer
};

// Returns the scenario as it is run on an engine that is slower by `time_scale`.
Scenario Stretched(Scenario scenario, double time_scale);

// "recipe" (of the storm experiment), "growing", "recipe-x4", "default" (RocksDB's own).
const std::vector<Geometry>& Geometries();
const Geometry* FindGeometry(std::string_view name);

}  // namespace weir
