// Draws reports as a picture: for each database the writes and the files in L0 over time, with the times in which
// RocksDB's conditions held, and below them L0 as the simulator has it, with RocksDB alone and with weir.
#pragma once

#include <string>
#include <vector>

#include "bench/advise/database_report.h"

namespace weir {

// Returns an SVG image.
std::string StallPlot(const std::vector<DatabaseReport>& reports);

}  // namespace weir
