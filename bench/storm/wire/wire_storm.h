// The storm experiment on a database server (wire_engine.h): measures the latency of interactive work while bulk
// writers overload the server, without weir and with it.
//
// Interactive writes and reads start at random times (Poisson), over many connections. Latency counts from the intended
// start, so it includes a wait for a free connection; the run waits for all operations that were to start within it.
// Bulk writers write as fast as the policy and the server let them. Each run fills the table anew and has a phase
// "calm" and a phase "burst". It adds its figures to the directory --results, in the format of RocksDB's storm. Runs
// whose figures are there already are not repeated.
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
  double warm_up_seconds = 5;  // not part of the figures
  double calm_seconds = 5;
  double burst_seconds = 52;
  double writes_per_second = 200;
  double reads_per_second = 200;
  int clients = 32;         // writing clients, and as many reading ones; each client and bulk writer has a connection
  bool clients_ask = true;  // false: only bulk writers ask weir, as with `weir load`
  int bulk_writers = 16;
  int bulk_batch = 16;  // values in a transaction
  size_t value_bytes = 1000;
  uint64_t keys = 200'000;
  LimiterSettings limiter;
};

// These return plans that overload the server on this machine.
WireStormPlan PostgresPlan();
WireStormPlan MyRocksPlan();
WireStormPlan Neo4jPlan();

// Runs every policy in every repetition; each repetition begins with another policy. Prints the medians at the end.
Status RunWireStorm(WireEngine& engine, const WireStormPlan& plan);

// Prints the medians of the results in this directory.
Status ReportWireStorm(const std::string& results);

}  // namespace weir
