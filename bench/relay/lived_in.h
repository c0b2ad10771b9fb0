// Databases as relays have them after a while: an import, what clients wrote since (late, large, replaced and deleted
// events), a restart. Of several relays, which all run while they are asked in turn, shape by shape, so that what else
// the machine does is felt by all.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/relay/load_scenario.h"
#include "config/status.h"

namespace weir {

struct LivedInOptions {
  // As Launch takes their commands; each imports {file} by a command of its own.
  std::vector<Contender> servers;
  std::vector<Contender> imports;
  int repetitions = 3;         // on new databases
  int rounds = 3;              // of all shapes, on the fresh ones and on those that were lived in
  size_t published = 100'000;  // by clients
  size_t requests = 500;       // of each shape in a round; a tenth of that of the heavy ones
  std::filesystem::path results;
  std::filesystem::path scratch;
  std::string command_line;
};

// The figures of a run that ends early are kept.
Status RunLivedIn(const LivedInOptions& options, const LoadPlan& plan);

}  // namespace weir
