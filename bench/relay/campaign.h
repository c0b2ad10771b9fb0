// Measures the scenarios of AllScenarios (load_scenario.h) several times, for one relay or for several relays in turn.
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
  // The relays to start, each on a fresh database, by commands as Launch (launch.h) takes them. Each repetition begins
  // with another relay.
  std::vector<Contender> contenders;
  // A relay that runs already, instead of contenders. Everything is measured once, on the database that it has.
  std::optional<LoadTarget> running;
  int repetitions = 3;
  std::filesystem::path results;  // directory for results.csv, results.md and machine.txt
  std::filesystem::path scratch;  // directory for the databases, which the campaign makes and removes
  std::string command_line;       // the command of the benchmark, written beside the figures
};

// Runs the campaign. If it ends early, the figures so far are kept.
Status RunCampaign(const CampaignOptions& options, const LoadPlan& plan);

}  // namespace weir
