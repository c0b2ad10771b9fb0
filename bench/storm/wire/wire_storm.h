// The storm on a server behind a wire: what interactive work feels while bulk writers press, without weir and with it.
//
// Interactive writes and reads come at their own pace (Poisson), over as many connections as have to wait at once, and
// are timed from their intended start. Bulk writers push as hard as they are let. Each run is a calm and a burst on an
// empty table; figures are added to those of --results as RocksDB's storm writes them.
#pragma once

#include <cstdint>
#include <string>

#include "bench/storm/wire/wire_engine.h"
#include "config/status.h"
#include "throttle/limiter_settings.h"

namespace weir {

struct WireStormPlan {
  std::string results;
  int repetitions = 3;
  double calm_seconds = 10;
  double burst_seconds = 40;
  double writes_per_second = 200;
  double reads_per_second = 200;
  int clients = 64;  // interactive, of each kind
  int bulk_writers = 16;
  int bulk_batch = 16;  // values
  size_t value_bytes = 1000;
  uint64_t keys = 1'000'000;
  LimiterSettings limiter;
};

// As that engine can be overloaded here.
WireStormPlan PostgresPlan();
WireStormPlan Neo4jPlan();

// Every policy in every repetition, alone and then weir. Prints the medians at the end.
Status RunWireStorm(WireEngine& engine, const WireStormPlan& plan);

}  // namespace weir
