// Scenario: the load and the disturbances of a run of the simulator. A scenario is only data; simulation.h runs it.
#pragma once

#include <limits>
#include <string_view>
#include <vector>

#include "bench/simulator/lsm_plant.h"
#include "bench/simulator/memory_plant.h"

namespace weir {

inline constexpr double kClosedLoop = std::numeric_limits<double>::infinity();
inline constexpr double kInteractivePerSecond = 200;

// The load that all bulk writers together offer from `from_s` on, as a multiple of the rate that the engine can
// sustain. kClosedLoop: each writer writes when its last write is done. If `ramps` is true, the load changes linearly
// to that of the next Offer. A scenario has its offers in the order of their times.
struct Offer {
  double from_s = 0;
  double multiple = kClosedLoop;
  bool ramps = false;
};

struct Disturbance {
  enum class Kind { kBackground, kSensorFails, kSensorNan, kSensorWorks, kBulkGains };
  double at_s = 0;
  Kind kind = Kind::kBackground;
  double value = 1;  // kBackground: share of the geometry's bandwidth; kBulkGains: multiple of the default gains
};

struct Scenario {
  std::string_view name;
  std::string_view meaning;
  double seconds = 120;
  // The figures about the level are those from from_s to until_s (0: to the end of the run). The other figures are
  // those from from_s to the end of the run. The time before from_s is the warm-up.
  double from_s = 0;
  double until_s = 0;

  std::vector<Offer> offers = {{}};
  int parties = 4;
  int writers_of_first_party = 1;  // the other parties have one writer each
  double interactive_per_second = kInteractivePerSecond;
  std::vector<Disturbance> disturbances = {};

  bool memory_plant = false;
  bool weighted = false;               // true: the process variable is weighted, even if the settings say otherwise
  std::string_view compare_with = "";  // name of another scenario whose figures are shown beside this one's; may be ""
};

const std::vector<Scenario>& Scenarios();
const Scenario* FindScenario(std::string_view name);

// The size of a simulated engine, and the rate that it sustains at the setpoint of bulk work.
struct Geometry {
  std::string_view name;
  std::string_view meaning;
  LsmPlantOptions lsm;
  MemoryPlantOptions memory;
  double sustained_bytes_per_second = 0;
  double time_scale = 1;  // factor by which it is slower than the geometry "recipe"; scenarios last longer by it
};

// Returns the scenario with all its times multiplied by `time_scale`, or unchanged if it is for a MemoryPlant.
Scenario Stretched(Scenario scenario, double time_scale);

// Returns all geometries: "recipe" (that of the storm experiment), "growing", "recipe-x4", "default" (RocksDB's
// defaults).
const std::vector<Geometry>& Geometries();
const Geometry* FindGeometry(std::string_view name);

}  // namespace weir
