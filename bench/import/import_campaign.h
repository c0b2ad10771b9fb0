// Compares import commands: runs each on a fresh database, in turn, a number of times.
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
  // In the commands {file} is replaced by the events' file, {db} by an empty directory, and {dir} by the one around it.
  std::vector<Contender> contenders;
  std::filesystem::path file;
  size_t events = 0;  // in the file
  int repetitions = 5;
  std::filesystem::path scratch;  // databases are made and removed there
  std::filesystem::path results;  // results.csv, results.md and machine.txt are written there; empty: nowhere
  std::string command_line;       // noted beside the figures
};

// Returns the figures of one import of so many events.
LoadFigures FiguresOf(const CommandCost& cost, size_t events, uint64_t disk_bytes);

// Prints the tables. A command that fails ends the campaign; the figures before are kept.
Status RunImportCampaign(const ImportCampaign& campaign);

}  // namespace weir
