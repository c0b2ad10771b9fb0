// Databases as relays have them after a while: after an import, the later events of clients (late, large, replaced and
// deleted ones) and a restart. All relays run while they are asked in turn, shape by shape, so that all feel what else
// the machine does.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/relay/load_scenario.h"
#include "config/status.h"

namespace weir {

struct LivedInOptions {
  // Commands as Launch takes them; each relay imports {file} by a command of its own.
  std::vector<Contender> servers;
  std::vector<Contender> imports;
  int repetitions = 3;         // on new databases
  int rounds = 3;              // through all shapes, on fresh databases and on those that were lived in
  size_t published = 100'000;  // by clients
  size_t requests = 500;       // per shape and round; a tenth as many for heavy shapes
  std::filesystem::path results;
  std::filesystem::path scratch;
  std::string command_line;
};

// The figures of a run that ends early are kept.
Status RunLivedIn(const LivedInOptions& options, const LoadPlan& plan);

}  // namespace weir
