// Measures queries on databases as relays have them after some time: after an import, the later events of clients
// (late, large, replaced and deleted ones) and a restart. All relays run at the same time. The benchmark asks them in
// turn, one shape of REQ after the other, so that other work of the machine affects all of them equally.
//
// The scenario of a figure is the state that the relay was in:
//   fresh               after the import
//   lived-in            after the events of clients and a restart; every question comes several times
//   restarted           after a start for each shape; every question comes once
//   first-touch         the same, and weir has no note of what was in its memory before
//   first-touch-cold    the same, and the database is not in the page cache; left out if it stays there
//   larger-than-memory  with a memory target of a quarter of the database; left out for commands without {memory_mb}
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/relay/load_scenario.h"
#include "config/status.h"

namespace weir {

struct LivedInOptions {
  // The commands that start the relays, as Launch (launch.h) takes them, and those by which each relay imports {file}.
  // {memory_mb} stands for the memory target.
  std::vector<Contender> servers;
  std::vector<Contender> imports;
  int repetitions = 3;              // repetitions, each on new databases
  int rounds = 3;                   // rounds through all shapes, in each state
  size_t published = 100'000;       // number of events that clients publish
  size_t requests = 500;            // REQs for each shape and round; a tenth of this number for heavy shapes
  size_t questions = 100;           // REQs for each shape and start, where every question comes once
  uint64_t memory_mb = 1400;        // {memory_mb}, except in the state larger-than-memory
  std::vector<std::string> gauges;  // metrics of /metrics to read when clients have published
  std::filesystem::path results;
  std::filesystem::path scratch;
  std::string command_line;
};

// Runs the benchmark. If it ends early, the figures so far are kept.
Status RunLivedIn(const LivedInOptions& options, const LoadPlan& plan);

}  // namespace weir
