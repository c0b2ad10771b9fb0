// Figures of several runs: as CSV, as tables of medians, and beside them the machine and the command that they are
// from.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "config/status.h"

namespace weir {

struct LoadFigure {
  std::string name;
  std::string unit;
  double value = 0;
};
using LoadFigures = std::vector<LoadFigure>;

struct ResultRow {
  std::string date;
  std::string relay;  // or who else was measured
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

// For people: as many digits as say something.
std::string FigureText(double value, const std::string& unit);
// "median (lowest–highest)"; empty where there are no values.
std::string SpreadText(const Spread& spread, const std::string& unit);
// The first two lines of a table in Markdown.
std::string TableHead(const std::string& first, const std::vector<std::string>& columns);

// "NAME=COMMAND". Names go into tables, files and CSV.
struct Contender {
  std::string name;
  std::string command;
};
Result<Contender> ParseContender(const std::string& text);

// The order in which contenders run: each repetition begins with another one.
std::vector<size_t> OrderOf(size_t contenders, int repetition);
// Each of them in this order; an error names the contender.
Status RunInTurn(const std::vector<Contender>& contenders, int repetitions,
                 const std::function<Status(const Contender&, int repetition)>& run);

// The words as they were typed, near enough.
std::string CommandAsTyped(int argc, char** argv);

class Results {
 public:
  // results.csv is added to, machine.txt and results.md are of the last run. Without a directory nothing is written.
  Results(std::filesystem::path directory, std::string command_line);

  // Kept in results.csv at once: the figures of a run that ends early are there.
  Status Add(const std::string& who, int repetition, const std::string& scenario, const LoadFigures& figures);
  const std::vector<ResultRow>& rows() const { return rows_; }
  // Prints the tables, and writes them under the title.
  Status Finish(const std::string& title, const std::string& tables) const;

 private:
  const std::filesystem::path directory_;
  const std::string machine_;
  const std::string date_;
  std::vector<ResultRow> rows_;
};

}  // namespace weir
