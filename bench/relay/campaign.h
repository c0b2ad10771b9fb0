// Measures the whole table, for one relay or several beside each other, a number of times.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/relay/load_scenario.h"
#include "config/status.h"

namespace weir {

struct CampaignOptions {
  // Relays that are started on fresh databases, with commands as Launch takes them; each repetition begins with another
  // one.
  std::vector<Contender> contenders;
  // Or a relay that runs already: everything is measured once, on the database that it has.
  std::optional<LoadTarget> running;
  int repetitions = 3;
  std::filesystem::path results;  // results.csv, results.md and machine.txt are written there
  std::filesystem::path scratch;  // databases are made and removed there
  std::string command_line;       // noted beside the figures
};

// The figures of a run that ends early are kept.
Status RunCampaign(const CampaignOptions& options, const LoadPlan& plan);

}  // namespace weir
