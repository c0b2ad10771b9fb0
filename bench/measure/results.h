// Writes the figures of several runs as CSV and as tables of medians, and beside them their machine and command.
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
  std::string relay;  // or another program that was measured
  int repetition = 1;
  std::string scenario;
  LoadFigure figure;
};

// Appends the rows to the file; a new file begins with a header.
Status AppendResults(const std::filesystem::path& file, const std::vector<ResultRow>& rows);

struct Spread {
  double median = 0, lowest = 0, highest = 0;
};
// Returns NaN throughout if there are no values.
Spread SpreadOf(std::vector<double> values);

// Prints a value for people, with the digits that matter.
std::string FigureText(double value, const std::string& unit);
// Prints "median (lowest–highest)"; empty if there are no values.
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
// Runs each of them in this order; an error names the contender.
Status RunInTurn(const std::vector<Contender>& contenders, int repetitions,
                 const std::function<Status(const Contender&, int repetition)>& run);

// Returns the words of the command about as they were typed.
std::string CommandAsTyped(int argc, char** argv);

class Results {
 public:
  // Appends to results.csv, and replaces machine.txt and results.md. Writes nothing without a directory.
  Results(std::filesystem::path directory, std::string command_line);

  // Writes the figures to results.csv at once, so that those of a run that ends early are there.
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
