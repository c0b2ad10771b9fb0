#include "bench/simulator/report.h"

#include <cmath>
#include <cstdio>
#include <limits>

#include "config/text/parse.h"

namespace weir {
namespace {

constexpr int kNameWidth = 28;
constexpr int kColumnWidth = 13;

std::string Padded(const std::string& text, int width) {
  const int missing = width - static_cast<int>(text.size());
  return missing > 0 ? std::string(static_cast<size_t>(missing), ' ') + text : " " + text;
}

std::string ForPeople(double value) {
  if (std::isnan(value)) return "-";
  char text[32];
  const double size = std::abs(value);
  std::snprintf(text, sizeof text,
                size >= 1000 || value == std::floor(value) ? "%.0f"
                : size >= 10                               ? "%.1f"
                                                           : "%.3f",
                value);
  return text;
}

std::string ForPrograms(double value) { return std::isfinite(value) ? FormatNumber(value) : "null"; }

std::string JsonOf(const Reported& run) {
  const SimulationOptions& o = run.options;
  std::string text = "{\"scenario\": \"" + std::string(o.scenario->name) + "\", \"law\": \"" + std::string(o.law) +
                     "\", \"geometry\": \"" + std::string(o.geometry->name) +
                     "\", \"seconds\": " + ForPrograms(o.seconds > 0 ? o.seconds : o.scenario->seconds) +
                     ", \"seed\": " + std::to_string(o.seed);
  for (const auto& [name, value] : Named(run.result.figures)) text += ",\n  \"" + name + "\": " + ForPrograms(value);
  return text + "}";
}

}  // namespace

std::string Curves(const Reported& run, const Terminal& terminal) {
  const std::vector<TickRow>& rows = run.result.rows;
  Curve level{.title = "level (highest signal)", .rows = 12, .reference_name = "setpoint"};
  Curve limit{.title = "limit of bulk work, MB/s (nothing where open)", .rows = 6};
  Curve inflow{.title = "written, MB/s", .rows = 6};
  for (const TickRow& row : rows) {
    level.values.push_back(row.level);
    limit.values.push_back(row.open ? std::numeric_limits<double>::quiet_NaN() : row.limit / 1e6);
    inflow.values.push_back(row.inflow / 1e6);
  }
  if (!rows.empty()) {
    level.reference = rows.back().setpoint;
    inflow.seconds = rows.back().time_s;
  }
  return Draw(level, terminal, false) + Draw(limit, terminal, false) + Draw(inflow, terminal, true);
}

std::string FigureTable(const std::vector<const Reported*>& runs, const std::vector<std::string>& headings) {
  std::string text(kNameWidth, ' ');
  for (const std::string& heading : headings) text += Padded(heading, kColumnWidth);
  if (headings.empty()) text.clear();
  if (!text.empty()) text += "\n";
  const auto names = Named(runs.front()->result.figures);
  for (size_t i = 0; i < names.size(); ++i) {
    std::string line = names[i].first;
    line.resize(kNameWidth, ' ');
    for (const Reported* run : runs) line += Padded(ForPeople(Named(run->result.figures)[i].second), kColumnWidth);
    text += line + "\n";
  }
  return text;
}

std::string AsCsv(const SimulationResult& result) {
  std::string text =
      "time_s,level,setpoint,open,limit_bytes_per_second,drain_bytes_per_second,inflow_bytes_per_second,p,i,d,reason,"
      "l0_files,l0_bytes,l1_bytes,memtable_bytes,pending_bytes,memory_bytes,engine_brakes\n";
  for (const TickRow& r : result.rows) {
    char line[512];
    std::snprintf(line, sizeof line,
                  "%.1f,%.4f,%.2f,%d,%.0f,%.0f,%.0f,%.5f,%.5f,%.5f,%s,%llu,%.0f,%.0f,%.0f,%.0f,%.0f,%d\n", r.time_s,
                  r.level, r.setpoint, r.open ? 1 : 0, r.open ? 0 : r.limit, r.drain, r.inflow, r.p, r.i, r.d,
                  r.reason.c_str(), static_cast<unsigned long long>(r.l0_files), r.l0_bytes, r.l1_bytes,
                  r.memtable_bytes, r.pending_bytes, r.memory_bytes, r.braking ? 1 : 0);
    text += line;
  }
  return text;
}

std::string AsJson(const std::vector<const Reported*>& runs) {
  if (runs.size() == 1) return JsonOf(*runs.front()) + "\n";
  std::string text;
  for (const Reported* run : runs) text += (text.empty() ? "[" : ",\n ") + JsonOf(*run);
  return text + "]\n";
}

}  // namespace weir
