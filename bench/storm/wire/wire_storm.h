// The storm on a server behind a wire: measures what interactive work feels while bulk writers press, without weir and
// with it.
//
// Interactive writes and reads come at their own pace (Poisson), over as many connections as have to wait at once, and
// are timed from their intended start; the run waits for all that were to start within it. Bulk writers push as hard
// as they are let. Each run is a calm and a burst on a table that was filled anew; figures are added to those of
// --results as RocksDB's storm writes them, and runs that are there already are not repeated.
#pragma once

#include <cstdint>
#include <string>

#include "bench/storm/wire/wire_engine.h"
#include "config/status.h"
#include "throttle/limiter_settings.h"

namespace weir {

struct WireStormPlan {
  std::string engine;  // its name in the results
  std::string results;
  int repetitions = 3;
  double warm_up_seconds = 5;  // is in no figure
  double calm_seconds = 5;
  double burst_seconds = 52;
  double writes_per_second = 200;
  double reads_per_second = 200;
  int clients = 32;  // interactive, of each kind: with the bulk writers they fit into 100 connections
  int bulk_writers = 16;
  int bulk_batch = 16;  // values
  size_t value_bytes = 1000;
  uint64_t keys = 200'000;
  LimiterSettings limiter;
};

// Return plans that overload the engine on this machine.
WireStormPlan PostgresPlan();
WireStormPlan Neo4jPlan();

// Runs every policy in every repetition; the policies take turns to come first. Prints the medians at the end.
Status RunWireStorm(WireEngine& engine, const WireStormPlan& plan);

// Prints the medians of results that are there.
Status ReportWireStorm(const std::string& results);

}  // namespace weir
