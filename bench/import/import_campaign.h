// Compares import commands. Runs the commands in turn, several times, each run on a fresh database.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/measure/process.h"
#include "bench/measure/results.h"
#include "config/status.h"

namespace weir {

struct ImportCampaign {
  // The commands to compare. In a command {file} stands for `file`, {db} for an empty directory, and {dir} for the
  // directory that contains {db}.
  std::vector<Contender> contenders;
  std::filesystem::path file;
  size_t events = 0;  // number of events in `file`
  int repetitions = 5;
  std::filesystem::path scratch;  // directory for the databases, which the campaign makes and removes
  std::filesystem::path results;  // directory for results.csv, results.md and machine.txt; empty: writes none
  std::string command_line;       // the command of the benchmark, written beside the figures
};

// Returns the figures of one import of `events` events.
LoadFigures FiguresOf(const CommandCost& cost, size_t events, uint64_t disk_bytes);

// Runs the campaign and prints its tables. A command that fails ends the campaign, which keeps the figures of the
// commands before.
Status RunImportCampaign(const ImportCampaign& campaign);

}  // namespace weir
