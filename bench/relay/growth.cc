#include "bench/relay/growth.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string_view>

#include "bench/relay/report.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

// The ends of the names of figures that are costs.
constexpr std::string_view kCosts[] = {"EOSE p50",
                                       "server CPU per REQ",
                                       "time per event",
                                       "CPU per event",
                                       "OK p50",
                                       "OK p99",
                                       "written per event",
                                       "delivery p50",
                                       "server CPU per delivery",
                                       "start",
                                       "resident",
                                       "anonymous",
                                       "disk"};

// A name with an underscore is that of a metric of the relay.
bool IsCost(const std::string& name) {
  if (name.starts_with("generator")) return false;
  const auto ends = [&](std::string_view cost) { return name.ends_with(cost); };
  return name.find('_') != std::string::npos || std::any_of(std::begin(kCosts), std::end(kCosts), ends);
}

// Returns one row for each cost, with its scenario.
std::vector<ResultRow> CostsOf(const std::vector<ResultRow>& rows, const std::string& relay) {
  std::vector<ResultRow> costs;
  for (const ResultRow& row : rows) {
    const auto is_same = [&](const ResultRow& other) {
      return other.scenario == row.scenario && other.figure.name == row.figure.name;
    };
    if (row.relay == relay && IsCost(row.figure.name) && std::none_of(costs.begin(), costs.end(), is_same))
      costs.push_back(row);
  }
  return costs;
}

std::vector<std::string> RelaysIn(const SizeRows& size) {
  return InOrder(size.rows, [](const ResultRow& row) { return row.relay; });
}

using Points = std::vector<std::pair<double, double>>;
Points PointsOf(const std::vector<SizeRows>& sizes, const ResultRow& cost) {
  Points points;
  for (const SizeRows& size : sizes)
    points.emplace_back(size.events, MedianOf(size.rows, cost.relay, cost.scenario, cost.figure.name));
  return points;
}

// Returns "-" if the exponent is not known.
std::string ExponentText(const Points& points) {
  char text[32];
  const double exponent = GrowthExponent(points);
  std::snprintf(text, sizeof text, "%+.2f", exponent);
  return std::isnan(exponent) ? "-" : text;
}

std::string GrowthRow(const std::vector<SizeRows>& sizes, const ResultRow& cost) {
  const Points points = PointsOf(sizes, cost);
  std::string text =
      "| " + cost.scenario + ": " + cost.figure.name + (cost.figure.unit.empty() ? "" : ", " + cost.figure.unit) + " |";
  for (const auto& [size, value] : points) text += " " + FigureText(value, cost.figure.unit) + " |";
  const double ratio = points.back().second / points.front().second;
  return text + " " + ExponentText(points) + " | " + FigureText(ratio, "") + " |\n";
}

// Writes a column for each cost and a row for each size; a last row has the exponents.
Status WriteCosts(const fs::path& file, const std::vector<SizeRows>& sizes, const std::string& relay) {
  const std::vector<ResultRow> costs = CostsOf(sizes.front().rows, relay);
  std::ofstream out(file, std::ios::trunc);
  out << "events";
  for (const ResultRow& cost : costs) out << ',' << cost.scenario << ": " << cost.figure.name;
  for (const SizeRows& size : sizes) {
    out << '\n' << size.events;
    for (const ResultRow& cost : costs) out << ',' << MedianOf(size.rows, relay, cost.scenario, cost.figure.name);
  }
  out << "\nexponent";
  for (const ResultRow& cost : costs) out << ',' << ExponentText(PointsOf(sizes, cost));
  out << std::endl;
  return out.good() ? Status() : Status::Error("cannot write " + file.string());
}

// Measures a size into a directory that has another name until it is complete.
Result<SizeRows> MeasureSize(LivedInOptions options, size_t size, LoadPlan plan) {
  plan.events = size;
  const size_t events = plan.Scaled(size);
  const fs::path whole = options.results / std::to_string(events);
  if (!fs::exists(whole)) {
    options.results = whole.string() + ".unfinished";
    std::error_code error;
    fs::remove_all(options.results, error);
    std::fprintf(stderr, "%zu events\n", events);
    if (Status s = RunLivedIn(options, plan); !s.ok()) return s;
    fs::rename(options.results, whole, error);
    if (error) return Status::Error("cannot rename " + options.results.string() + ": " + error.message());
  }
  auto rows = ReadResults(whole / "results.csv");
  if (!rows.ok()) return rows.status();
  return SizeRows{.events = events, .rows = std::move(rows).value()};
}

}  // namespace

double GrowthExponent(const std::vector<std::pair<double, double>>& points) {
  double count = 0, sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
  for (const auto& [size, cost] : points) {
    if (!(cost > 0)) continue;
    const double x = std::log(size), y = std::log(cost);
    ++count;
    sum_x += x;
    sum_y += y;
    sum_xx += x * x;
    sum_xy += x * y;
  }
  if (count < 2) return std::numeric_limits<double>::quiet_NaN();
  return (count * sum_xy - sum_x * sum_y) / (count * sum_xx - sum_x * sum_x);
}

std::string GrowthTables(const std::vector<SizeRows>& sizes) {
  std::vector<std::string> columns;
  for (const SizeRows& size : sizes) columns.push_back(std::to_string(size.events));
  columns.insert(columns.end(), {"exponent", "last : first"});
  std::string text =
      "Medians by the number of imported events. The exponent is that of the power of the size that fits best: 0 if a "
      "cost\n"
      "does not change, 1 if it grows as the size does.\n";
  for (const std::string& relay : RelaysIn(sizes.front())) {
    text += "\n## " + relay + "\n\n" + TableHead("cost", columns);
    for (const ResultRow& cost : CostsOf(sizes.front().rows, relay)) text += GrowthRow(sizes, cost);
  }
  return text;
}

Status RunGrowth(const LivedInOptions& options, const std::vector<size_t>& sizes, const LoadPlan& plan) {
  for (size_t i = 1; i < sizes.size(); ++i)
    if (plan.Scaled(sizes[i]) <= plan.Scaled(sizes[i - 1])) return Status::Error("--sizes must ascend");
  std::vector<SizeRows> measured;
  for (const size_t size : sizes) {
    auto rows = MeasureSize(options, size, plan);
    if (!rows.ok()) return Status::Error(std::to_string(size) + " events: " + rows.status().message());
    measured.push_back(std::move(rows).value());
  }
  for (const std::string& relay : RelaysIn(measured.front()))
    if (Status s = WriteCosts(options.results / ("growth-" + relay + ".csv"), measured, relay); !s.ok()) return s;
  const std::string tables = GrowthTables(measured);
  std::fputs(tables.c_str(), stdout);
  std::ofstream out(options.results / "growth.md", std::ios::trunc);
  out << "# Costs by size\n\n" << tables << std::flush;
  return out.good() ? Status() : Status::Error("cannot write " + (options.results / "growth.md").string());
}

}  // namespace weir
