// Measures queries on databases as relays have them after some time: after an import, the later events of clients
// (late, large, replaced and deleted ones) and a restart. All relays run at the same time. The benchmark asks them in
// turn, one shape of REQ after the other, so that other work of the machine affects all of them equally.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/relay/load_scenario.h"
#include "config/status.h"

namespace weir {

struct LivedInOptions {
  // The commands that start the relays, as Launch (launch.h) takes them, and those by which each relay imports {file}.
  std::vector<Contender> servers;
  std::vector<Contender> imports;
  int repetitions = 3;         // repetitions, each on new databases
  int rounds = 3;              // rounds through all shapes, before and after clients publish
  size_t published = 100'000;  // number of events that clients publish
  size_t requests = 500;       // REQs for each shape and round; a tenth of this number for heavy shapes
  std::filesystem::path results;
  std::filesystem::path scratch;
  std::string command_line;
};

// Runs the benchmark. If it ends early, the figures so far are kept.
Status RunLivedIn(const LivedInOptions& options, const LoadPlan& plan);

}  // namespace weir
