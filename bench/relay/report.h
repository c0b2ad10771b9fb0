// Figures of several runs as CSV, and as tables with medians, ranges and the ratio between two relays.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/relay/load_scenario.h"
#include "config/status.h"

namespace weir {

struct ResultRow {
  std::string date;
  std::string relay;
  int repetition = 1;
  std::string scenario;
  LoadFigure figure;
};

// A header first where the file is new.
Status AppendResults(const std::filesystem::path& file, const std::vector<ResultRow>& rows);

struct Spread {
  double median = 0, lowest = 0, highest = 0;
};
// NaN throughout where there are no values.
Spread SpreadOf(std::vector<double> values);

// Markdown: first what relay.md asks for, then every figure of every scenario. Where there are two relays or more, the
// last column is the second's median over the first's; of digests, whether all relays agree.
std::string ResultTables(const std::vector<ResultRow>& rows);

// As they are printed after one scenario.
std::string PlainFigures(const LoadFigures& figures);

}  // namespace weir
