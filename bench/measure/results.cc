#include "bench/measure/results.h"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

#include "bench/measure/machine.h"
#include "config/text/rfc3339.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

// Returns the present time to the minute.
std::string DateOfRun() { return FormatTime(std::chrono::floor<std::chrono::minutes>(WallClock::System().Now())); }

Status WriteFile(const fs::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::trunc);
  out << text;
  out.flush();
  return out.good() ? Status() : Status::Error("cannot write " + file.string());
}

std::string ForCsv(std::string text) {
  std::replace(text.begin(), text.end(), ',', ';');
  return text;
}

}  // namespace

Status AppendResults(const fs::path& file, const std::vector<ResultRow>& rows) {
  const bool is_new = !fs::exists(file);
  std::ofstream out(file, std::ios::app);
  if (is_new) out << "date,relay,repetition,scenario,figure,unit,value\n";
  for (const ResultRow& row : rows) {
    char value[64];
    std::snprintf(value, sizeof value, row.figure.unit == "digest" ? "%.0f" : "%.4f", row.figure.value);
    out << row.date << ',' << ForCsv(row.relay) << ',' << row.repetition << ',' << ForCsv(row.scenario) << ','
        << ForCsv(row.figure.name) << ',' << row.figure.unit << ',' << value << '\n';
  }
  out.flush();
  return out.good() ? Status() : Status::Error("cannot write " + file.string());
}

Result<std::vector<ResultRow>> ReadResults(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);  // the header
  std::vector<ResultRow> rows;
  for (size_t number = 2; std::getline(in, line); ++number) {
    std::istringstream cells(line);
    std::vector<std::string> fields;
    for (std::string field; std::getline(cells, field, ',');) fields.push_back(field);
    if (fields.size() != 7) return Status::Error(file.string() + ":" + std::to_string(number) + ": not a row");
    rows.push_back({.date = fields[0],
                    .relay = fields[1],
                    .repetition = std::atoi(fields[2].c_str()),
                    .scenario = fields[3],
                    .figure = {fields[4], fields[5], std::strtod(fields[6].c_str(), nullptr)}});
  }
  if (!in.eof() || rows.empty()) return Status::Error("cannot read " + file.string());
  return rows;
}

std::vector<std::string> InOrder(const std::vector<ResultRow>& rows,
                                 const std::function<std::string(const ResultRow&)>& get) {
  std::vector<std::string> texts;
  for (const ResultRow& row : rows)
    if (std::find(texts.begin(), texts.end(), get(row)) == texts.end()) texts.push_back(get(row));
  return texts;
}

Spread SpreadOf(std::vector<double> values) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  if (values.empty()) return {none, none, none};
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  const double low = values[(n - 1) / 2], high = values[n / 2];
  return {.median = low == high ? low : (low + high) / 2, .lowest = values.front(), .highest = values.back()};
}

std::string FigureText(double value, const std::string& unit) {
  char text[64];
  if (!std::isfinite(value)) return "";
  if (unit == "digest") {
    std::snprintf(text, sizeof text, "%012" PRIx64, static_cast<uint64_t>(value));
  } else {
    const double size = std::abs(value);
    const int digits = value == std::floor(value) || size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
    std::snprintf(text, sizeof text, "%.*f", digits, value);
  }
  return text;
}

std::string SpreadText(const Spread& spread, const std::string& unit) {
  std::string median = FigureText(spread.median, unit);
  if (!(spread.lowest < spread.highest)) return median;
  return median + " (" + FigureText(spread.lowest, unit) + "–" + FigureText(spread.highest, unit) + ")";
}

std::string TableHead(const std::string& first, const std::vector<std::string>& columns) {
  std::string head = "| " + first + " |", rule = "|---|";
  for (const std::string& column : columns) {
    head += " " + column + " |";
    rule += "---|";
  }
  return head + "\n" + rule + "\n";
}

Result<Contender> ParseContender(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || text.substr(0, equals).find_first_of(",|/ ") != std::string::npos)
    return Status::Error("expected NAME=COMMAND");
  return Contender{.name = text.substr(0, equals), .command = text.substr(equals + 1)};
}

std::vector<size_t> OrderOf(size_t contenders, int repetition) {
  std::vector<size_t> order;
  for (size_t i = 0; i < contenders; ++i) order.push_back((i + static_cast<size_t>(repetition) - 1) % contenders);
  return order;
}

Status RunInTurn(const std::vector<Contender>& contenders, int repetitions,
                 const std::function<Status(const Contender&, int repetition)>& run) {
  for (int repetition = 1; repetition <= repetitions; ++repetition)
    for (const size_t i : OrderOf(contenders.size(), repetition))
      if (Status s = run(contenders[i], repetition); !s.ok())
        return Status::Error(contenders[i].name + ": " + s.message());
  return Status();
}

std::string CommandAsTyped(int argc, char** argv) {
  std::string text = fs::path(argv[0]).filename();
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    text += word.find_first_of(" \"|&;>") == std::string::npos ? " " + word : " '" + word + "'";
  }
  return text;
}

Results::Results(fs::path directory, std::string command_line)
    : directory_(std::move(directory)),
      machine_(DescribeMachine() + "command: " + command_line + "\n"),
      date_(DateOfRun()) {}

Status Results::Add(const std::string& who, int repetition, const std::string& scenario, const LoadFigures& figures) {
  std::vector<ResultRow> rows;
  for (const LoadFigure& figure : figures)
    rows.push_back({.date = date_, .relay = who, .repetition = repetition, .scenario = scenario, .figure = figure});
  const bool first = rows_.empty();
  rows_.insert(rows_.end(), rows.begin(), rows.end());
  if (directory_.empty()) return Status();
  std::error_code ignored;  // opening the file reports the error better
  fs::create_directories(directory_, ignored);
  if (first)
    if (Status s = WriteFile(directory_ / "machine.txt", machine_); !s.ok()) return s;
  return AppendResults(directory_ / "results.csv", rows);
}

Status Results::Finish(const std::string& title, const std::string& tables) const {
  if (rows_.empty()) return Status();
  std::fputs(tables.c_str(), stdout);
  if (directory_.empty()) return Status();
  return WriteFile(directory_ / "results.md", "# " + title + "\n\n```\n" + machine_ + "```\n\n" + tables);
}

}  // namespace weir
