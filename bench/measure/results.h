// Writes the figures of several runs as CSV and as tables of medians, with the machine and the command that made them.
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
  std::string relay;  // the relay, or another program, that was measured
  int repetition = 1;
  std::string scenario;
  LoadFigure figure;
};

// Appends the rows to the file, as CSV. A new file begins with a header.
Status AppendResults(const std::filesystem::path& file, const std::vector<ResultRow>& rows);

// Returns the rows of such a file.
Result<std::vector<ResultRow>> ReadResults(const std::filesystem::path& file);

// Returns the texts that `get` returns for the rows, each once, in the order of the rows.
std::vector<std::string> InOrder(const std::vector<ResultRow>& rows,
                                 const std::function<std::string(const ResultRow&)>& get);

struct Spread {
  double median = 0, lowest = 0, highest = 0;
};
// Returns the median, the lowest and the highest value; three NaN if there are no values.
Spread SpreadOf(std::vector<double> values);

// Returns the value as text, with as many digits as are useful for its size and unit.
std::string FigureText(double value, const std::string& unit);
// Returns "median (lowest–highest)"; only the median if all values are equal; "" if there are no values.
std::string SpreadText(const Spread& spread, const std::string& unit);
// Returns the first two lines of a table in Markdown.
std::string TableHead(const std::string& first, const std::vector<std::string>& columns);

// A program to measure, given as "NAME=COMMAND". The name is used in tables, file names and CSV.
struct Contender {
  std::string name;
  std::string command;
};
Result<Contender> ParseContender(const std::string& text);

// Returns the order in which the contenders run. Each repetition begins with another contender.
std::vector<size_t> OrderOf(size_t contenders, int repetition);
// Calls `run` for each contender in each repetition, in the order of OrderOf, until one returns an error. The error
// names the contender.
Status RunInTurn(const std::vector<Contender>& contenders, int repetitions,
                 const std::function<Status(const Contender&, int repetition)>& run);

// Returns the command line approximately as the user typed it.
std::string CommandAsTyped(int argc, char** argv);

class Results {
 public:
  // Add will append to results.csv in the directory and replace machine.txt; Finish will replace results.md. If
  // `directory` is empty, they write no file.
  Results(std::filesystem::path directory, std::string command_line);

  // Writes the figures to results.csv at once, so that a campaign that ends early keeps them.
  Status Add(const std::string& who, int repetition, const std::string& scenario, const LoadFigures& figures);
  const std::vector<ResultRow>& rows() const { return rows_; }
  // Prints the tables, and writes them to results.md under the title.
  Status Finish(const std::string& title, const std::string& tables) const;

 private:
  const std::filesystem::path directory_;
  const std::string machine_;
  const std::string date_;
  std::vector<ResultRow> rows_;
};

}  // namespace weir
